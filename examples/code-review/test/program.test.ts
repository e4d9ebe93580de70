import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { folderWith, messy, start, tidy } from "./support.ts";

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
  expect(stderr).toMatch(/turn 1 · list_files · \d+ tokens · 120 s left\n/);
});

test.each([
  [["/no/such"], "there is no folder /no/such."],
  [[new URL("support.ts", import.meta.url).pathname], "is a file; name a folder."],
  [["--nope"], "Unknown option '--nope'"],
  [["--api", "soap"], '--api is "responses" or "chat", not "soap".'],
  [["--budget", "0"], '--budget takes a whole number, not "0".'],
])("DEMO-4 %j is one line and exit 2", async (args, message) => {
  const { code, stdout, stderr } = await start(args).ended;
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^code-review: [^\n]+\n$/);
  expect(stderr).toContain(message);
});

test("DEMO-5 a refused key is one line that does not show the key", async () => {
  await using simulator = await startSimulator({ apiKey: "the-right-key" });
  const env = { OPENAI_API_KEY: "a-wrong-secret-key", OPENAI_BASE_URL: simulator.baseURL };
  const { code, stderr } = await start([await folderWith(tidy)], env).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^code-review: the key was refused: [^\n]+\n$/);
  expect(stderr).not.toContain("a-wrong-secret-key");
});

test("DEMO-5 an unreachable base URL is one line", async () => {
  const closed = await startSimulator();
  await closed.close();
  const env = { OPENAI_API_KEY: "k", OPENAI_BASE_URL: closed.baseURL };
  const { code, stderr } = await start([await folderWith(tidy)], env).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^code-review: the provider cannot be reached: [^\n]*ECONNREFUSED[^\n]*\n$/);
}, 20_000);

test.each([
  [["--deadline-ms", "200", "--latency-ms", "5000"], "the deadline passed"],
  [["--budget", "100"], "the budget of tokens is spent"],
])("DEMO-5 %j ends with one line and exit 1", async (args, message) => {
  const { code, stderr } = await start([...args, await folderWith(tidy)]).ended;
  expect(code).toBe(1);
  expect(stderr).toMatch(/^code-review: [^\n]+\n$/);
  expect(stderr).toContain(message);
});

test("DEMO-6 Ctrl-C ends it within 100 ms with exit 130", { retry: 2 }, async () => {
  const program = start(["--latency-ms", "60000", await folderWith(tidy)]);
  await expect.poll(program.stdout, { timeout: 10_000 }).toContain("No OPENAI_API_KEY");
  await new Promise((resolve) => setTimeout(resolve, 200));
  const stoppedAt = performance.now();
  program.child.kill("SIGINT");
  const { code, stderr } = await program.ended;
  expect(performance.now() - stoppedAt).toBeLessThan(100);
  expect([code, stderr]).toEqual([130, ""]);
});
