import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

const cli = new URL("../src/cli.ts", import.meta.url).pathname;

interface Started {
  readonly child: ReturnType<typeof spawn>;
  readonly ended: Promise<number | null>;
  output(): { readonly stdout: string; readonly stderr: string };
}

function start(...args: readonly string[]): Started {
  const child = spawn(process.execPath, [cli, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const ended = once(child, "close").then(([code]) => code as number | null);
  onTestFinished(() => void child.kill("SIGKILL"));
  return { child, ended, output: () => output };
}

test.each([[["--nope"]], [["--port", "x"]], [["--script", "/no/such.json"]]])(
  "SIM-12 %j is one line and exit 2",
  async (args) => {
    const { ended, output } = start(...args);
    expect(await ended).toBe(2);
    expect(output().stderr).toMatch(/^proviso-simulator: [^\n]+\n$/);
  },
);

test.each([
  ['[{ "txt": "a" }]', [], /steps\[0\]: there is no "txt"/],
  ["[]", ["--rpm", "0"], /requestsPerMinute must be a positive number/],
])("SIM-12 a script %s with %j is distinguished from a port that is taken", async (text, more, message) => {
  const folder = await mkdtemp(join(tmpdir(), "simulator-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = join(folder, "script.json");
  await writeFile(script, text);
  const { ended, output } = start("--script", script, ...more);
  expect(await ended).toBe(2);
  expect(output().stderr).toMatch(/^proviso-simulator: [^\n]+\n$/);
  expect(output().stderr).toMatch(message);
  expect(output().stderr).not.toContain("listen");
});

test("SIM-12 it serves a script, prints each request, and ends with 130 on Ctrl-C", async () => {
  const folder = await mkdtemp(join(tmpdir(), "simulator-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const script = join(folder, "script.json");
  await writeFile(script, JSON.stringify([{ text: "from the file" }]));
  const { child, ended, output } = start("--script", script);
  await expect.poll(() => output().stdout, { timeout: 120_000 }).toContain("export OPENAI_BASE_URL=");
  const [baseURL] = /http:\S+/.exec(output().stdout) ?? [];
  const answer = await fetch(`${baseURL}/responses`, {
    method: "POST",
    headers: { authorization: "Bearer k" },
    body: JSON.stringify({ model: "m", input: "a" }),
  });
  expect(await answer.text()).toContain("from the file");
  await expect.poll(() => output().stdout).toMatch(/POST \/v1\/responses 200 \d+ ms/);
  child.kill("SIGINT");
  expect(await ended).toBe(130);
});
