import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { estimatedTokens } from "../../packages/runtime/src/tokens.ts";
import { row, type Row } from "./measure.ts";
import { samples } from "./token-samples.ts";

/** How near the estimate of a text's tokens comes to what a tokenizer counts, by kind of text, and what it costs. */
export function tokens(): readonly Row[] {
  return [...Object.entries(samples).flatMap(([kind, text]) => nearness(kind, text)), speed()];
}

function nearness(kind: string, text: string): readonly Row[] {
  const [estimate, counted] = [estimatedTokens(text), encode(text).length];
  const detail = `${estimate} estimated, ${counted} counted of ${text.length} characters`;
  const [what, ratio] = [`estimated tokens / o200k_base, ${kind}`, estimate / counted];
  return [row(what, ratio, detail, ratio < 1 ? "≥ 0.8" : "≤ 1.5")];
}

function speed(): Row {
  const all = Object.values(samples).join("\n");
  // Flat, as a text that came over a wire.
  const text = Buffer.from(all.repeat(Math.ceil(2 ** 20 / all.length)))
    .toString()
    .slice(0, 2 ** 20);
  const times = Array.from({ length: 20 }, () => {
    const startedAt = performance.now();
    estimatedTokens(text);
    return performance.now() - startedAt;
  }).sort((a, b) => a - b);
  const median = times[times.length / 2] ?? Number.NaN;
  return row("estimating 1 Mi characters, ms", median, `fastest ${(times[0] ?? Number.NaN).toFixed(2)} ms`, "≤ 5");
}
