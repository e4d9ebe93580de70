import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { estimatedTokens } from "../../packages/runtime/src/tokens.ts";
import { race, row, type Row } from "./measure.ts";
import { samples } from "./token-samples.ts";

/** How near the estimate of a text's tokens comes to what a tokenizer counts, by kind of text, and what it costs. */
export async function tokens(): Promise<readonly Row[]> {
  return [...Object.entries(samples).flatMap(([kind, text]) => nearness(kind, text)), await speed()];
}

function nearness(kind: string, text: string): readonly Row[] {
  const [estimate, counted] = [estimatedTokens(text), encode(text).length];
  const detail = `${estimate} estimated, ${counted} counted of ${text.length} characters`;
  const [what, ratio] = [`estimated tokens / o200k_base, ${kind}`, estimate / counted];
  return [row(what, ratio, detail, ratio < 1 ? "≥ 0.8" : "≤ 1.5")];
}

async function speed(): Promise<Row> {
  const all = Object.values(samples).join("\n");
  // Flat, as a text that came over a wire.
  const text = Buffer.from(all.repeat(Math.ceil(2 ** 20 / all.length)))
    .toString()
    .slice(0, 2 ** 20);
  const { estimate } = await race({ estimate: () => estimatedTokens(text) }, { times: 10 });
  return row("estimating 1 Mi characters, ms of CPU", estimate / 1_000, "the first quarter of each 4,096", "≤ 5");
}
