import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { firedWhenItWaits, inProcess, modulesBeside, temporaryFolder } from "./support.ts";

/** A folder with an eval of ten rows, and a second one with these data, whose model counts the requests in a file. */
async function twoEvals(second: string): Promise<{ readonly folder: string; readonly module: string }> {
  const folder = await temporaryFolder();
  await modulesBeside(folder);
  await writeFile(join(folder, "bad.jsonl"), '{"id":"a"}\n{"id":7}\n');
  await writeFile(
    join(folder, "two.eval.ts"),
    `import { definePrompt } from "@proviso/core";
import { defineEval } from "@proviso/evals";
import { jsonl } from "@proviso/evals/node";
import { modelAdapter } from "@proviso/runtime";
import { z } from "zod";
const row = z.object({ id: z.string() });
const ask = definePrompt({ key: "ask", params: row, text: "Ask {{id}}." });
const adapter = modelAdapter({
  name: "echo",
  model: "echo-1",
  capabilities: { tools: true, nativeOutput: true },
  generate: async () => ({
    message: { role: "assistant", text: "echo", toolCalls: [] },
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 1 },
  }),
});
const rows = Array.from({ length: 10 }, (_, at) => ({ id: "r" + at }));
const base = { prompt: ({ id }: { id: string }) => ask.bind({ id }), adapter, scorers: { ok: () => true } };
export const first = defineEval({ ...base, name: "first", data: rows, gates: { ok: { atLeast: 0.5 } } });
export const second = defineEval({ ...base, name: "second", ${second} });
`,
  );
  return { folder, module: join(folder, "two.eval.ts") };
}

test.each([
  ["a file with a bad line", `data: jsonl(new URL("bad.jsonl", import.meta.url).pathname, row)`, "line 2: id"],
  ["two rows of one id", `data: [...rows, ...rows]`, 'rows 1 and 11 have the id "r0"'],
  ["a row that is not there", `data: rows.slice(1)`, 'There is no row "r0"', "--rows", "r0,r1"],
  [
    "a variant that is not there",
    `data: rows, variants: { other: {} }`,
    'There is no variant "default"',
    "--variant",
    "default",
  ],
])("EVL-50 EVL-1 %s of a later eval is found before the first is asked", async (_name, second, says, ...flags) => {
  const { folder, module } = await twoEvals(second);
  const { code, stdout, stderr } = await inProcess(folder, ["eval", module, "--json", ...flags]);
  expect({ code, stdout: JSON.parse(stdout) as unknown }).toEqual({
    code: 2,
    stdout: { error: { code: "usage", message: expect.stringContaining(says) } },
  });
  expect(stderr).not.toContain("attempts");
});

test("EVL-50 EVL-23 two evals of one name are wrong usage: their attempts would take each other's places", async () => {
  const { folder, module } = await twoEvals('data: rows, name: "first"');
  const { code, stdout } = await inProcess(folder, ["eval", module, "--json"]);
  const message = expect.stringContaining("two evals are called first: give each a name of its own");
  expect({ code, stdout: JSON.parse(stdout) as unknown }).toEqual({
    code: 2,
    stdout: { error: { code: "usage", message } },
  });
});

test("EVL-50 CLI-1 CLI-2 what keeps a later eval from being run leaves the reports before it, and exits 1", async () => {
  const { folder, module } = await twoEvals(`data: (async function* () { yield rows[0]!; yield rows[0]!; })()`);
  const { code, stdout, stderr } = await inProcess(folder, ["eval", module, "--json"]);
  const message = 'second: The data cannot be used: rows 1 and 2 have the id "r0".';
  expect(JSON.parse(stdout)).toMatchObject({
    passes: false,
    reports: [{ name: "first", passes: true, spent: { totalTokens: 110 } }],
    error: { code: "eval", message },
  });
  expect({ code, says: stderr.includes(message) }).toEqual({ code: 1, says: true });
  const shown = await inProcess(folder, ["eval", module]);
  expect(shown.code).toBe(1);
  expect(shown.stdout).toContain("gate         ok at least 0.5   default  passed: ");
});

test("EVL-50 CLI-6 an abort while rows are looked at, or waited for, is an interruption", async () => {
  const { folder, module } = await twoEvals(
    `data: (async function* () { globalThis["waits"]?.(); await new Promise(() => {}); yield rows[0]!; })()`,
  );
  const { code, stdout } = await inProcess(folder, ["eval", module, "--json"], { signal: firedWhenItWaits() });
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ passes: false, reports: [{ name: "first", passes: true }] });
});

test("EVL-50 CLI-7 an eval that is interrupted before it has a report has not passed", async () => {
  const { folder, module } = await twoEvals(
    `data: (async function* () { globalThis["waits"]?.(); await new Promise(() => {}); yield rows[0]!; })()`,
  );
  const args = ["eval", module, "--json", "--filter", "second"];
  const { code, stdout } = await inProcess(folder, args, { signal: firedWhenItWaits() });
  expect({ code, stdout: JSON.parse(stdout) as unknown }).toEqual({
    code: 130,
    stdout: { passes: false, reports: [] },
  });
});

test("EVL-50 of several evals an error names the one it is of", async () => {
  const { folder, module } = await twoEvals(`data: rows.slice(1)`);
  const of = async (...flags: readonly string[]): Promise<string> =>
    (await inProcess(folder, ["eval", module, ...flags])).stderr;
  expect(await of("--sample", "10")).toContain("second: A sample of 10 cannot be drawn from 9 rows.");
  const hint = "--rows are of each eval: name one with --filter.";
  expect(await of("--rows", "r0,r1")).toContain(`second: There is no row "r0". There are 9 rows. ${hint}`);
  expect(await of("--rows", "r0", "--filter", "second")).not.toMatch(/second: |each eval/);
});
