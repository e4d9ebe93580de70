import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunJson } from "@proviso/cli";
import { openRuns } from "@proviso/viewer";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import {
  env,
  firedWhenItWaits,
  inProcess,
  modulesBeside,
  processes,
  program,
  project,
  run,
  start,
  temporaryFolder,
  without,
} from "./support.ts";
import { limitsIn } from "../src/limits.ts";

const greetings = join(processes, "greetings.ts");

const chunks = async function* (...parts: readonly string[]) {
  yield* parts;
};

test.each([false, true])(
  "CLI-5 run takes a text with its params and prints the answer (in a terminal: %s)",
  async (inTerminal) => {
    const folder = await project();
    const { code, stdout, stderr } = await start(folder, ["run", "hello.prompt.md", "--param", "name=Ada"], {
      inTerminal,
    }).ended;
    const printed = `${stdout}${stderr}`.replaceAll("\r", "");
    expect(code).toBe(0);
    expect(printed).toMatch(
      /^You said: Hello, Ada\.\nproviso: test-1: 1 turn, 15 tokens, \d+\.\d s, run [0-9a-f-]{36}\n$/,
    );
    if (!inTerminal) expect(stdout).toBe("You said: Hello, Ada.\n");
  },
);

test("CLI-5 run takes a prompt of a module by its name, and reads params by the schema", async () => {
  const folder = await project();
  const params = ["--param", "name=5", "--param", "times=3", "--param", "loud=true"];
  expect(await inProcess(folder, ["run", `${greetings}#greet`, ...params])).toMatchObject({
    code: 0,
    stdout: "You said: Greet 5, 3 times, loud: true.\n",
  });
  // By the name of the prompt too; a bound one needs no params.
  expect(await inProcess(folder, ["run", `${greetings}#app/fixed`])).toMatchObject({ stdout: "You said: Say yes.\n" });
  // A list is read as JSON; a structured output is printed as JSON.
  const measured = await inProcess(folder, ["run", `${greetings}#measure`, "--param", 'words=["a","b"]']);
  expect(JSON.parse(measured.stdout)).toEqual({ length: 13, said: "You said: Measure this." });
});

test("CLI-5 --param beside a bound prompt leaves its other params as they were given to bind", async () => {
  const folder = await project();
  const prompt = `${greetings}#changing`;
  expect(await inProcess(folder, ["run", prompt])).toMatchObject({ stdout: "You said: Say <yes> 5 softly.\n" });
  expect(await inProcess(folder, ["run", prompt, "--param", "tone=loud"])).toMatchObject({
    stdout: "You said: Say <yes> 5 loud.\n",
  });
  expect(await inProcess(folder, ["run", prompt, "--param", "word=no"])).toMatchObject({
    stdout: "You said: Say <no> 5 softly.\n",
  });
});

test("CLI-2 what keeps run --stream --json from being begun is one line", async () => {
  const folder = await project();
  const streamed = ["run", "hello.prompt.md", "--json", "--stream"];
  const { code, stdout } = await inProcess(folder, streamed);
  expect(code).toBe(2);
  expect(stdout.endsWith("\n")).toBe(true);
  expect(stdout.trimEnd().split("\n")).toHaveLength(1);
  expect(JSON.parse(stdout)).toMatchObject({ error: { code: "usage" } });
});

test("CLI-5 all params come from a file or from stdin, and --param wins", async () => {
  const folder = await project();
  await writeFile(join(folder, "params.json"), '{ "name": "Ada", "times": 2 }');
  expect(await inProcess(folder, ["run", `${greetings}#greet`, "--params", "params.json"])).toMatchObject({
    stdout: "You said: Greet Ada, 2 times, loud: false.\n",
  });
  const stdin = chunks('{ "name": "A', 'da" }');
  const args = ["run", `${greetings}#greet`, "--params", "-", "--param", "name=Bob"];
  expect(await inProcess(folder, args, { stdin })).toMatchObject({
    stdout: "You said: Greet Bob,  times, loud: false.\n",
  });
  const piped = start(folder, ["run", "hello.prompt.md", "--params", "-"]);
  piped.type('{ "name": "Zoë" }');
  piped.endInput();
  expect(await piped.ended).toMatchObject({ code: 0, stdout: "You said: Hello, Zoë.\n" });
});

test("CLI-5 CLI-1 CLI-4 what keeps the evaluation from being begun is one line that names it, and exit 2", async () => {
  const folder = await project();
  await writeFile(join(folder, "list.json"), "[1]");
  await writeFile(join(folder, "two.md"), "{{a}} and {{b}}");
  const wrong: readonly (readonly [readonly string[], ...(readonly string[])])[] = [
    [["run"], "run takes one prompt, not none"],
    [["run", "nowhere.ts"], "there is no module", "nowhere.ts"],
    [["run", "nowhere.md"], "there is no text", "nowhere.md"],
    [["run", greetings], "exports several prompts", "#greet", "#measure", "#fixed"],
    [["run", `${greetings}#greed`], "did you mean greet?"],
    [["run", "two.md"], "a: is missing", "b: is missing"],
    [["run", `${greetings}#greet`, "--param", "times=many"], "name: ", "times: "],
    [["run", "hello.prompt.md", "--param", "name=Ada", "--param", "nmae=Ada"], "nmae: unknown key"],
    [["run", "hello.prompt.md", "--param", "name"], "--param takes name=value, not name"],
    [["run", "hello.prompt.md", "--params", "list.json"], "must be a JSON object"],
    [["run", "hello.prompt.md", "--params", "none.json"], "none.json cannot be read"],
    [["run", "slow.md", "--deadline", "90"], "such as 90s"],
    [["run", "slow.md", "--deadline", "0s"], "such as 90s"],
    [["run", "slow.md", "--max-tokens", "many"], "--max-tokens takes a whole number"],
    [["run", "slow.md", "--max-cost", "-1"], "--max-cost"],
    [["run", "slow.md", "--model", "opnai/gpt-5.4"], "did you mean openai?"],
    [["run", "slow.md", "--model", "openai/"], "--model takes openai/<id> or litellm/<id>"],
    [["run", "slow.md", "--model", "openai/gpt-5.4"], "OPENAI_API_KEY"],
    [["run", "slow.md", "--straem"], "did you mean --stream?"],
    [["run", "slow.md", "--runs", "list.json"], "list.json"],
    [["run", "slow.md", "--runs", "a.db", "--no-runs"], "give --runs or --no-runs"],
  ];
  for (const [args, ...says] of wrong) {
    const { code, stdout, stderr } = await inProcess(folder, args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: "" });
    expect(stderr).toMatch(/^proviso: [^\n]+\n$/);
    for (const text of says) expect(stderr).toContain(text);
  }
});

test("CLI-5 a model is named by --model, which wins over the config", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "Bonjour." }] });
  const folder = await project();
  const more = { env: { OPENAI_API_KEY: "sk-any", OPENAI_BASE_URL: simulator.baseURL } };
  const args = ["run", "hello.prompt.md", "--param", "name=Ada", "--model", "openai/gpt-5.4", "--no-runs"];
  expect(await inProcess(folder, args, more)).toMatchObject({ code: 0, stdout: "Bonjour.\n" });
  expect(existsSync(join(folder, ".proviso"))).toBe(false);
});

test("CLI-5 CLI-1 a model that is not there, and packages that are missing, are named with what helps", async () => {
  const folder = await project("export default {};\n");
  const hello = ["run", "hello.prompt.md", "--param", "name=Ada"];
  expect(await inProcess(folder, hello)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--model openai/<id> or litellm/<id>, or an adapter in proviso.config.ts"),
  });
  for (const [model, name, installs] of [
    ["openai/x", "@proviso/adapter-openai", "npm install --save-dev @proviso/adapter-openai"],
    [
      "litellm/x",
      "@proviso/adapter-ai-sdk",
      "npm install --save-dev @proviso/adapter-ai-sdk @ai-sdk/openai-compatible",
    ],
  ] as const) {
    expect(await run(folder, [...hello, "--model", model], without(name))).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining(installs),
    });
  }
  const answering = await project();
  // Without the journal nothing is recorded, which is told, unless a journal is asked for.
  expect(await run(answering, hello, without("@proviso/journal"))).toMatchObject({
    code: 0,
    stdout: "You said: Hello, Ada.\n",
    stderr: expect.stringContaining("it is not recorded: npm install --save-dev @proviso/journal\n"),
  });
  expect(await run(answering, [...hello, "--runs", "a.db"], without("@proviso/journal"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm install --save-dev @proviso/journal"),
  });
});

test("CLI-2 run --json is one document, done, failed or not begun; the run is recorded under its id", async () => {
  const folder = await project();
  const done = await inProcess(folder, ["run", `${greetings}#fixed`, "--json"]);
  expect(done).toMatchObject({ code: 0, stderr: "" });
  const { runId, durationMs, ...rest } = JSON.parse(done.stdout) as RunJson;
  expect(rest).toEqual({
    promptName: "app/fixed",
    model: "test-1",
    output: "You said: Say yes.",
    text: "You said: Say yes.",
    usage: expect.objectContaining({ totalTokens: 15 }),
    turns: 1,
  });
  expect(durationMs).toBeGreaterThanOrEqual(0);
  await using reader = openRuns(join(folder, ".proviso", "runs.db"));
  expect(await reader.summary(runId)).toMatchObject({ promptName: "app/fixed", status: "executed" });

  const failed = await inProcess(folder, [
    "run",
    "hello.prompt.md",
    "--param",
    "name=refuse",
    "--json",
    "--runs",
    "kept/",
  ]);
  expect(failed.code).toBe(1);
  expect(failed.stdout).not.toContain("\u001b");
  expect(JSON.parse(failed.stdout)).toMatchObject({
    promptName: "app/hello",
    output: null,
    text: null,
    turns: 1,
    error: { code: "provider", message: expect.stringContaining("That is refused.") },
  });
  await using others = openRuns(join(folder, "kept"));
  expect((await others.list()).runs).toMatchObject([{ status: "failed", promptName: "app/hello" }]);

  const notBegun = await inProcess(folder, ["run", "hello.prompt.md", "--json"]);
  expect(notBegun.code).toBe(2);
  expect(JSON.parse(notBegun.stdout)).toEqual({
    error: { code: "usage", message: expect.stringContaining("name: is missing") },
  });
});

test("CLI-2 run --stream prints the answer as it comes, with --json each event as a line", async () => {
  const folder = await project();
  const parts: string[] = [];
  const stdout = { write: (text: string) => void parts.push(text) };
  await inProcess(folder, ["run", `${greetings}#fixed`, "--stream"], { stdout });
  expect(parts.join("")).toBe("You said: Say yes.\n");
  expect(parts.length).toBeGreaterThan(2);

  const { code, stdout: lines } = await inProcess(folder, ["run", `${greetings}#fixed`, "--stream", "--json"]);
  expect(code).toBe(0);
  const types = lines
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly type: string }).type);
  expect([types[0], types.at(-1)]).toEqual(["prompt.rendered", "prompt.executed"]);
  expect(types).toContain("text.delta");
});

test("CLI-2 a reader of run that leaves is no error", async () => {
  const folder = await project();
  const command = [process.execPath, ...program, "run", `${greetings}#fixed`, "--stream", "--json"];
  const line = `set -o pipefail; ${command.map((arg) => `'${arg}'`).join(" ")} | true; echo "$?"`;
  const ended = await new Promise<string>((done) => {
    execFile("bash", ["--norc", "-c", line], { cwd: folder, env }, (_error, stdout, stderr) => done(stdout + stderr));
  });
  expect(ended).toBe("0\n");
});

test("CLI-5 the deadline and the budget limit the evaluation, which then failed", async () => {
  const folder = await project();
  const late = await inProcess(folder, ["run", "slow.md", "--deadline", "1s", "--json"]);
  expect(late.code).toBe(1);
  expect(JSON.parse(late.stdout)).toMatchObject({ error: { code: "deadline" }, text: "This much" });
  const poor = await inProcess(folder, ["run", `${greetings}#fixed`, "--max-tokens", "1"]);
  expect(poor).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("proviso: budget: ") });
});

test.each([false, true])(
  "CLI-6 the first SIGINT prints what was answered and records the run (in a terminal: %s)",
  async (inTerminal) => {
    const folder = await project();
    const running = start(folder, ["run", "slow.md", "--stream"], { inTerminal });
    await running.wrote("This much");
    running.interrupt();
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(`${stdout}${stderr}`).toContain("proviso: aborted: ");
    if (!inTerminal) expect(stdout).toBe("This much\n");
    await using reader = openRuns(join(folder, ".proviso", "runs.db"));
    expect((await reader.list()).runs).toMatchObject([{ status: "failed", error: { code: "aborted" } }]);
  },
);

test("CLI-6 without --stream too, also as JSON; the given signal counts as SIGINT", async () => {
  const folder = await project();
  for (const [flags, fits] of [
    [[], expect.stringMatching(/^This much\n$/)],
    [["--json"], expect.stringContaining('"text": "This much"')],
  ] as const) {
    const signal = firedWhenItWaits();
    expect(await inProcess(folder, ["run", "slow.md", ...flags], { signal })).toMatchObject({
      code: 130,
      stdout: fits,
    });
  }
});

test("CLI-6 the second SIGINT ends the command at once", async () => {
  const folder = await project();
  await mkdir(join(folder, "own"));
  // An adapter that does not care about its signal.
  const stubborn = `export default { adapter: () => ({ name: "stubborn", stream(_, { signal }) {
    signal.addEventListener("abort", () => console.error("interrupted once"));
    console.error("it runs"); setInterval(() => {}, 1000);
    return { response: new Promise(() => {}), async *[Symbol.asyncIterator]() { await new Promise(() => {}); } };
  } }) };\n`;
  await writeFile(join(folder, "own", "proviso.config.mjs"), stubborn);
  const running = start(join(folder, "own"), ["run", "../slow.md", "--no-runs"]);
  await running.wrote("it runs");
  running.interrupt();
  await running.wrote("interrupted once");
  running.interrupt();
  expect((await running.ended).code).toBe(130);
});

test("CLI-5 an adapter of another copy of the runtime, which takes no session of this one, makes its own", async () => {
  const folder = await project(`import base from ${JSON.stringify(join(processes, "config.ts"))};
import { DefinitionError } from "@proviso/core";
export default { adapter(options) {
  const adapter = base.adapter(options);
  return { name: adapter.name, stream(prompt, given) {
    if (given.session !== undefined) throw new DefinitionError("This session was made by another copy of @proviso/runtime.");
    return adapter.stream(prompt, given);
  } };
} };\n`);
  await modulesBeside(folder);
  for (const flags of [["--no-runs"], []]) {
    const { code, stdout } = await inProcess(folder, ["run", `${greetings}#fixed`, "--json", ...flags]);
    expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, usage: { totalTokens: 15 } });
  }
});

test("CLI-2 where the record cannot be read after a failure, the failure is what is reported", async () => {
  const folder = await project(`import { modelAdapter } from "@proviso/runtime";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
const damage = (folder) => {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) damage(path);
    // As long as before, so that more is written behind it.
    else writeFileSync(path, readFileSync(path, "utf8").slice(0, -2) + "]\\n");
  }
};
export default { adapter: (options) => modelAdapter({
  name: "damaging", model: "m", capabilities: { tools: true, nativeOutput: true },
  async generate() {
    const folder = join(import.meta.dirname, "mine");
    while (!existsSync(folder) || readdirSync(folder).length === 0) await new Promise((next) => setTimeout(next, 5));
    damage(folder);
    return { failure: "provider", reason: "content_filter", message: "That is refused." };
  },
}, options) };\n`);
  await modulesBeside(folder);
  const { code, stdout } = await inProcess(folder, ["run", "slow.md", "--json", "--runs", "mine/"]);
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 1, error: { code: "provider" } });
});

test("CLI-10 a config that cannot be is one line that names its setting, and exit 2", async () => {
  for (const [config, says] of [
    ["export default { adaptr: 1 };", "did you mean adapter?"],
    ["export default { adapter: 1 };", "adapter in proviso.config.ts must be a function"],
    ["export default { runs: true };", "runs in proviso.config.ts must be a path or false"],
    ["export const x = 1;", "has to export its config as default"],
    ["throw new Error('not today');", "could not be loaded: not today"],
  ] as const) {
    const folder = await project(`${config}\n`);
    const { code, stderr } = await inProcess(folder, ["run", "slow.md"]);
    expect({ says, code }).toEqual({ says, code: 2 });
    expect(stderr).toContain(says);
  }
});

test("CLI-10 the config says where runs are, and flags win", async () => {
  const base = JSON.stringify(join(processes, "config.ts"));
  const folder = await project(`import base from ${base};\nexport default { ...base, runs: "mine.db" };\n`);
  await inProcess(folder, ["run", `${greetings}#fixed`]);
  const listed = await inProcess(folder, ["runs", "list", "--json"]);
  expect(JSON.parse(listed.stdout)).toMatchObject({ runs: [{ promptName: "app/fixed" }] });
  expect(existsSync(join(folder, ".proviso"))).toBe(false);
  await inProcess(folder, ["run", `${greetings}#fixed`, "--runs", "other.db"]);
  expect((await inProcess(folder, ["runs", "list", "--runs", "other.db"])).stdout).toContain("app/fixed");
  const none = await project(`import base from ${base};\nexport default { ...base, runs: false };\n`);
  expect(await inProcess(none, ["run", `${greetings}#fixed`])).toMatchObject({ code: 0 });
  expect(existsSync(join(none, ".proviso"))).toBe(false);
});

test.each([
  ["500ms", 500],
  ["1.5s", 1_500],
  ["90s", 90_000],
  ["5m", 300_000],
  ["2h", 7_200_000],
])("CLI-5 --deadline %s are %i milliseconds", (deadline, ms) => {
  expect(limitsIn({ deadline })).toEqual({ deadlineMs: ms, budget: undefined });
});

const asking = `import { definePrompt, defineTool } from "@proviso/core";
import { z } from "zod";
const inside = definePrompt({ key: "inside", text: "Write a very long report. ".repeat(100) });
const ask = defineTool({
  name: "ask",
  description: "Asks.",
  input: z.object({}),
  execute: async (_input, { evaluate }) => (await evaluate(inside.bind())).text,
});
export const main = definePrompt({ key: "main", sections: [{ key: "task", text: "Ask for it.", tools: [ask] }] });
`;

test("CLI-5 VIEW-13 run says what evaluations inside its calls spent, too, as runs list does", async () => {
  await using simulator = await startSimulator({
    rules: [
      ({ messages }) => {
        const asks = messages.some(({ text }) => text.includes("Ask for it."));
        const isFirst = asks && !messages.some(({ role }) => role === "tool");
        return isFirst ? { toolCalls: [{ name: "ask", arguments: {} }] } : { text: "Done." };
      },
    ],
  });
  const folder = await temporaryFolder();
  await modulesBeside(folder);
  await writeFile(join(folder, "ask.ts"), asking);
  const world = { env: { OPENAI_API_KEY: "sk-any-0123456789", OPENAI_BASE_URL: simulator.baseURL } };
  const ran = async (flag: string): Promise<RunJson> => {
    const args = ["run", "ask.ts", "--model", "openai/gpt-5.4", "--json", flag];
    const { code, stdout, stderr } = await inProcess(folder, args, world);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    return JSON.parse(stdout) as RunJson;
  };
  const { usage, turns, runId } = await ran("--runs=a.db");
  // The text inside alone has as many.
  expect(usage.totalTokens).toBeGreaterThan(400);
  expect([turns, simulator.requests.length]).toEqual([2, 3]);
  await using reader = openRuns(join(folder, "a.db"));
  expect(await reader.summary(runId)).toMatchObject({ usage, turns });
  expect((await ran("--no-runs")).usage).toEqual(usage);
});

test("CLI-5 CLI-2 run names no run and no model where nothing began, and the turns of the record", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "Hello." }] });
  const folder = await temporaryFolder();
  await writeFile(join(folder, "hello.prompt.md"), "Hello, {{name}}.\n");
  const world = { env: { OPENAI_API_KEY: "sk-any-0123456789", OPENAI_BASE_URL: simulator.baseURL } };
  const hello = (...flags: readonly string[]) =>
    inProcess(folder, ["run", "hello.prompt.md", "--param", "name=Ada", ...flags], world);
  const unpriced = ["--model", "openai/no-such-model", "--max-cost", "0.1"];
  const { code, stderr } = await hello(...unpriced);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^proviso: option: [^\n]+\n$/u);
  expect(JSON.parse((await hello(...unpriced, "--json")).stdout)).toMatchObject({ runId: "", model: "", turns: 0 });
  const poor = await hello("--model", "openai/gpt-5.4", "--max-cost", "0.000001");
  expect(poor.stderr).toMatch(/^proviso: gpt-5\.4: 0 turns, 0 tokens, [^\n]+, run /u);
  const [, id = ""] = /run ([\da-f-]{36})\n/u.exec(poor.stderr) ?? [];
  await using reader = openRuns(join(folder, ".proviso", "runs.db"));
  expect(await reader.summary(id)).toMatchObject({ turns: 0, status: "failed" });
  expect((await reader.list()).runs).toHaveLength(1);
  expect(simulator.requests).toHaveLength(0);
});
