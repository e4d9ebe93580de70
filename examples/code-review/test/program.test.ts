import { existsSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { folderWith, messy, start, started, tidy, type Program } from "./support.ts";

test("DEMO-1 two folders give two reviews, each from the text of its files", async () => {
  const [first, second] = await Promise.all([
    start([await folderWith(messy)]).ended,
    start([await folderWith(tidy)]).ended,
  ]);
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(first.stdout.split("\n")[0]).toMatch(
    /^No OPENAI_API_KEY: a simulated reviewer .* on http:\/\/127\.0\.0\.1:\d+/,
  );
  expect(first.stdout).toContain("src/a.ts:2");
  expect(first.stdout).toMatch(/high +src\/a\.ts:1 +`any` switches type checking off/);
  expect(first.stdout).toMatch(/rolled back +1 \(take_note\)/);
  expect(first.stdout).toContain("take_note failed, its changes are undone: src/a.test.ts does not exist");
  expect(second.stdout).toContain("Read 1 of 1 file (");
  expect(second.stdout).toContain("nothing stands out");
});

/** A line without what changes with the sources: numbers, files, findings. */
function formOf(line: string): string {
  return line
    .replaceAll(/[\w/.-]+\.ts\b/g, "FILE")
    .replaceAll(/review-\w+.*/g, "RUN")
    .replaceAll(/\d[\d.]*/g, "0")
    .replaceAll(/ +/g, " ")
    .replace(/ reviews .*/, "")
    .replace(/^((?:high|medium|low) FILE:0|- 0 ×:) .*/, "$1")
    .replace(/^(notes kept 0) .*/, "$1");
}

test("DEMO-13 what its README shows of the demo has the form of what it prints of the same folder", async () => {
  const root = new URL("../../../", import.meta.url);
  const [, shown = ""] =
    /```\n(No OPENAI_API_KEY[\s\S]*?)```/.exec(
      await readFile(new URL("examples/code-review/README.md", root), "utf8"),
    ) ?? [];
  const { code, stdout } = await start([new URL("packages/core/src", root).pathname]).ended;
  expect(code).toBe(0);
  const printed = new Set(stdout.split("\n").map(formOf));
  const lines = shown.split("\n").filter((line) => line !== "…");
  expect(lines.length).toBeGreaterThan(20);
  for (const line of lines) expect(printed).toContain(formOf(line));
});

test("DEMO-1 an empty folder is reviewed too", async () => {
  const { code, stdout } = await start([await folderWith({})]).ended;
  expect(code).toBe(0);
  expect(stdout).toContain("Read 0 of 0 files");
});

test("DEMO-3 --json prints the review alone, DEMO-9 with plain progress lines on standard error", async () => {
  const { code, stdout, stderr } = await start(["--json", "--api", "chat", await folderWith(messy)]).ended;
  expect(code).toBe(0);
  const { issues, summary, nextSteps } = JSON.parse(stdout) as Record<string, unknown>;
  expect(issues).toContainEqual({ path: "src/a.ts", line: 2, severity: "medium", message: "TODO is still open" });
  expect([typeof summary, Array.isArray(nextSteps)]).toEqual(["string", true]);
  expect(stderr).toMatch(/turn 1 · list_files · \d+ tokens · 1\d\d s left\n/);
});

test("DEMO-5 a refused key is one line that does not show the key", async () => {
  await using simulator = await startSimulator({ apiKey: "the-right-key" });
  const env = { OPENAI_API_KEY: "a-wrong-secret-key", OPENAI_BASE_URL: simulator.baseURL };
  const { code, stderr } = await start([await folderWith(tidy)], env).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^code-review: the key was refused: [^\n]+\n$/);
  expect(stderr).not.toContain("a-wrong-secret-key");
});

test.each(["nonsense", "http://user:secret@127.0.0.1:1/v1"])(
  "DEMO-4 the base URL %s is one line, not repeated, and exit 2",
  async (baseURL) => {
    const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: baseURL };
    const { code, stdout, stderr } = await start([], env).ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^code-review: OPENAI_BASE_URL must [^\n]+\n$/);
    expect(stderr).not.toContain("secret");
  },
);

test("DEMO-5 a provider that asks for a longer wait than the deadline leaves is one line", async () => {
  const refusal = { status: 429, headers: { "retry-after": "600" }, body: { error: { message: "slow down" } } };
  await using simulator = await startSimulator({ rules: [() => refusal] });
  const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: simulator.baseURL };
  const { code, stderr } = await start([await folderWith(tidy)], env).ended;
  expect(code).toBe(1);
  expect(stderr).toBe("code-review: the provider refused (rate_limit); ask again in 600000 ms.\n");
});

/** Milliseconds from the program's start to its end where it has nothing to do: how slow the machine is. */
async function startupMs(): Promise<number> {
  const startedAt = performance.now();
  await start(["--nope"]).ended;
  return performance.now() - startedAt;
}

test("DEMO-5 an unreachable base URL is one line, within 5 s", async () => {
  const closed = await startSimulator();
  await closed.close();
  const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: closed.baseURL };
  const least = await startupMs();
  const startedAt = performance.now();
  const { code, stderr } = await start([await folderWith(tidy)], env).ended;
  expect(performance.now() - startedAt).toBeLessThan(5_000 + 5 * least);
  expect(code).toBe(1);
  expect(stderr).toMatch(/^code-review: the provider cannot be reached: [^\n]*ECONNREFUSED[^\n]*\n$/);
});

test.each([
  [["--deadline-ms", "200", "--latency-ms", "5000"], "the deadline passed"],
  [["--budget", "100"], "the budget of tokens is spent"],
])("DEMO-5 %j ends with one line and exit 1", async (args, message) => {
  const { code, stderr } = await start([...args, await folderWith(tidy)]).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^code-review: [^\n]+\n$/);
  expect(stderr).toContain(message);
});

/** Milliseconds that a program took to end after the signal, once it had printed `shown`. */
async function exitMs({ child, ended, stdout }: Program, shown: string, signal: NodeJS.Signals): Promise<number> {
  await expect.poll(stdout, { timeout: 120_000 }).toContain(shown);
  // It has something to do by then.
  await new Promise((resolve) => setTimeout(resolve, 200));
  const stoppedAt = performance.now();
  child.kill(signal);
  await ended;
  return performance.now() - stoppedAt;
}

/** A program that does nothing but end at the signal. */
const idle = (signal: NodeJS.Signals): Program =>
  started(["-e", `process.on("${signal}", () => process.exit()); setTimeout(() => {}, 60_000); console.log("here")`]);

test.each([
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const)("DEMO-6 Ctrl-C, that is a signal such as %s, ends it within 100 ms with exit %i", async (signal, exit) => {
  const tries = 20;
  for (let tried = 1; tried <= tries; tried++) {
    const program = start(["--latency-ms", "60000", await folderWith(tidy)]);
    // At the same time, on the same machine.
    const [ms, least] = await Promise.all([
      exitMs(program, "No OPENAI_API_KEY", signal),
      exitMs(idle(signal), "here", signal),
    ]);
    const { code, stderr } = await program.ended;
    expect([code, stderr]).toEqual([exit, ""]);
    // Others may have had the processor for a while: that happens to one of the two, but not every time.
    if (ms < 100 + 10 * least) return;
    expect(tried, `the last one took ${ms} ms`).toBeLessThan(tries);
  }
});

test("DEMO-10 a reader that leaves early is no failure", async () => {
  const program = start(["--latency-ms", "100", await folderWith(messy)]);
  await expect.poll(program.stdout, { timeout: 120_000 }).toContain("No OPENAI_API_KEY");
  program.child.stdout?.destroy();
  expect(await program.ended).toMatchObject({ code: 0, stderr: "" });
});

test("DEMO-10 unread notices do not cost the review", async () => {
  const program = start(["--json", "--latency-ms", "20", await folderWith(messy)]);
  program.child.stderr?.destroy();
  const { code, stdout } = await program.ended;
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toHaveProperty("summary");
});

test.runIf(existsSync("/dev/full"))("DEMO-10 a review that cannot be written is a failure", async () => {
  const program = start(["--json", await folderWith(tidy)], {}, openSync("/dev/full", "w"));
  const { code, stderr } = await program.ended;
  expect(code).toBe(1);
  expect(stderr).toContain("code-review: the output could not be written (ENOSPC).\n");
});

test("DEMO-11 a file's name cannot steer the terminal", async () => {
  const { code, stdout } = await start([await folderWith({ "a\u001b[31m.ts": "let a: any;\n" })]).ended;
  expect(code).toBe(0);
  expect(stdout).toContain("a\ufffd[31m.ts:1");
  expect(stdout).not.toContain("\u001b");
});
