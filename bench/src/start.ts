import { execFileSync } from "node:child_process";
import { median, row, type Row } from "./measure.ts";

const proviso = `
import { definePrompt } from "@proviso/core";
import { openai } from "@proviso/adapter-openai";
const fetch = async () => new Response(JSON.stringify({ id: "c", choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }), { headers: { "content-type": "application/json" } });
await openai({ model: "m", api: "chat", apiKey: "x", fetch }).evaluate(definePrompt({ key: "p", text: "Hi." }).bind());
`;
const sdk = `
import { OpenAI } from "openai";
const fetch = async () => new Response(JSON.stringify({ id: "c", choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }] }), { headers: { "content-type": "application/json" } });
const client = new OpenAI({ apiKey: "x", fetch });
await client.chat.completions.create({ model: "m", messages: [{ role: "user", content: "Hi." }] });
`;

/** Fresh processes, from built packages, to the end of the first evaluation. */
export function coldStart(quick: boolean): readonly Row[] {
  const once = (script: string): number => {
    const timed = `const t = performance.now();${script}\nconsole.log(performance.now() - t);`;
    const lines = timed
      .split("\n")
      .map((line) => line.replace(/^import (\{.*\}) from ("[^"]+");$/, "const $1 = await import($2);"));
    const output = execFileSync(process.execPath, ["--input-type=module", "-e", lines.join("\n")], {
      cwd: import.meta.dirname,
    });
    return Number(output.toString().trim());
  };
  const times: { readonly sdk: number[]; readonly proviso: number[] } = { sdk: [], proviso: [] };
  for (let round = 0; round < (quick ? 5 : 11); round++) {
    times.sdk.push(once(sdk));
    times.proviso.push(once(proviso));
  }
  const [bare, ours] = [median(times.sdk), median(times.proviso)];
  return [
    row(
      "cold start: proviso − bare SDK, ms",
      ours - bare,
      `proviso ${ours.toFixed(0)} ms, SDK ${bare.toFixed(0)} ms`,
      "≤ 30",
    ),
  ];
}
