// Modules that end the process, or keep it from going on, while a command needs them.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { processes, project, recorded, run, start } from "./support.ts";

const early = "the process ended before the command was done: ";
const faults = [
  ["ends the process", "process.exit(0);", `${early}a module ended it, or waits for nothing`],
  ["never ends loading", "await new Promise(() => {});", `${early}a module ended it, or waits for nothing`],
  ["throws", 'throw new Error("Not today.");', "could not be loaded: Not today."],
  ["throws no error", "throw undefined;", "could not be loaded: undefined"],
  [
    "throws where nothing catches it",
    'setTimeout(() => { throw new Error("Not\\ntoday."); }, 1);\nawait new Promise((later) => setTimeout(later, 60_000));',
    `${early}Not\\ntoday. was thrown, and nothing caught it`,
  ],
  [
    "rejects where nothing catches it",
    'void Promise.reject(new Error("Not today."));\nawait new Promise((later) => setTimeout(later, 60_000));',
    `${early}Not today. was thrown, and nothing caught it`,
  ],
] as const;

test.each(faults)("CLI-2 --json is one document where a module %s", async (_, source, says) => {
  const { folder } = await recorded();
  await writeFile(join(folder, "odd.mjs"), source);
  const commands = [
    ["run", "odd.mjs", "--json"],
    ["run", "odd.mjs", "--json", "--stream"],
    ["eval", "odd.mjs", "--json"],
    ["runs", "replay", "first", "odd.mjs", "--json"],
  ];
  const ended = await Promise.all(commands.map((args) => run(folder, args)));
  for (const { code, stdout, stderr } of ended) {
    const { error } = JSON.parse(stdout) as { readonly error: { readonly code: string; readonly message: string } };
    expect(code).toBe(2);
    expect(`${JSON.stringify(error.message).slice(1, -1)} `).toContain(says);
    expect(stderr).toContain(`proviso: ${error.message.replaceAll("\n", "\\u000a")}`);
    expect(stderr).not.toContain("Warning: Detected unsettled");
  }
});

test("CLI-2 --json is one document where a config or a tool ends the process, and events stay lines", async () => {
  const folder = await project("process.exit(0);\n");
  for (const args of [
    ["runs", "list", "--json"],
    ["view", "--json"],
  ]) {
    const { code, stdout } = await run(folder, args);
    expect({ args, code }).toEqual({ args, code: 2 });
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "internal", message: expect.stringContaining(early) } });
  }
  const own = await project();
  await writeFile(join(own, "quit.md"), "Please quit.\n");
  const prompt = ["run", "quit.md", "--json"];
  const { stdout } = await run(own, prompt);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "internal", message: expect.stringContaining(early) } });
  // Each event is a line, and no document comes behind them.
  const streamed = await run(own, [...prompt, "--stream"]);
  const lines = streamed.stdout.trimEnd().split("\n");
  for (const line of lines) expect(JSON.parse(line)).toMatchObject({ type: expect.any(String) });
  expect(lines.length).toBeGreaterThan(1);
});

test("CLI-2 CLI-6 --json is one document where the second SIGINT ends a command", async () => {
  const folder = await project();
  const running = start(folder, ["eval", join(processes, "stuck.eval.ts"), "--json"]);
  await running.wrote("an attempt has begun");
  running.interrupt();
  await running.wrote("interrupted once");
  running.interrupt();
  const { code, stdout } = await running.ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toEqual({ error: { code: "interrupted", message: "it was interrupted" } });
});

test("CLI-2 --json is one document where a command is interrupted while a module never ends loading", async () => {
  const folder = await project();
  await writeFile(
    join(folder, "odd.mjs"),
    'console.error("loading");\nsetInterval(() => {}, 1_000);\nawait new Promise(() => {});',
  );
  const running = start(folder, ["run", "odd.mjs", "--json"]);
  await running.wrote("loading");
  running.interrupt();
  const { code, stdout } = await running.ended;
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toEqual({ error: { code: "interrupted", message: "it was interrupted" } });
});
