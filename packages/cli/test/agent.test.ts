import { join } from "node:path";
import type { RunJson } from "@proviso/cli";
import { expect, test } from "vitest";
import { inProcess, processes, project } from "./support.ts";

const config = `export { default } from ${JSON.stringify(join(processes, "agent.ts"))};\n`;
const hello = ["run", "hello.prompt.md", "--param", "name=Ada"];

test("CLI-5 an agent is recorded as every other adapter is", async () => {
  const folder = await project(config);
  const ran = await inProcess(folder, hello);
  expect(ran).toMatchObject({ code: 0, stdout: "HELLO, ADA.\n" });
  expect(ran.stderr).toMatch(/^proviso: shouting-1: 1 turn, \d+ tokens[^\n]* s, run [0-9a-f-]{36}\n$/);
  const { runId, turns } = JSON.parse((await inProcess(folder, [...hello, "--json"])).stdout) as RunJson;
  expect(turns).toBe(1);
  const shown = await inProcess(folder, ["runs", "show", runId]);
  expect(shown).toMatchObject({ code: 0, stdout: expect.stringContaining("HELLO, ADA.") });
});

test("CLI-5 CLI-2 the events of an agent's evaluation are a line each", async () => {
  const folder = await project(config);
  const { code, stdout } = await inProcess(folder, [...hello, "--stream", "--json"]);
  expect(code).toBe(0);
  const types = stdout
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { readonly type: string }).type);
  expect([types[0], types.at(-1)]).toEqual(["prompt.rendered", "prompt.executed"]);
});

test("CLI-7 an agent can be talked with", async () => {
  const folder = await project(config);
  const stdin = (async function* () {
    yield "first\nsecond\n";
  })();
  expect(await inProcess(folder, ["chat"], { stdin })).toEqual({ code: 0, stdout: "FIRST\nSECOND\n", stderr: "" });
});

test("CLI-1 each command's help has one example, and exits 0 without doing anything", async () => {
  const folder = await project();
  const { stdout } = await inProcess(folder, ["--help"]);
  const names = [...stdout.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name = ""]) => name);
  expect(names).toEqual(["chat", "eval", "overrides", "run", "runs", "view"]);
  for (const name of names) {
    const help = await inProcess(folder, [name, "--help"]);
    expect(help).toMatchObject({ code: 0, stderr: "" });
    expect(help.stdout).toMatch(new RegExp(`^proviso ${name}\\b`));
    expect(help.stdout.match(/^Example: proviso /gm), name).toHaveLength(1);
    expect(help.stdout).toContain("Exit codes: ");
  }
});
