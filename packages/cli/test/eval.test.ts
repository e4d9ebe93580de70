import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { firedWhenItWaits, inProcess, processes, project, run, start, temporaryFolder, without } from "./support.ts";

const spam = join(processes, "spam.eval.ts");

test.each([false, true])(
  "CLI-7 eval prints the report and exits 0 where all gates pass (in a terminal: %s)",
  async (inTerminal) => {
    const folder = await temporaryFolder();
    const { code, stdout, stderr } = await start(folder, ["eval", spam, "--filter", "good"], { inTerminal }).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("good   120 rows");
    expect(stripVTControlCharacters(stdout)).toMatch(/gate +correct at least 0\.5 +default +passed/);
    // Progress is written over on a terminal alone.
    expect(stdout.includes("120 of 120 attempts, 1,320")).toBe(inTerminal);
    expect(stdout.includes("\u001b[K")).toBe(inTerminal);
    expect(stdout.includes("\u001b[32mpassed")).toBe(inTerminal);
  },
);

test("CLI-3 without a terminal a line of progress is written in 5 s at most", async () => {
  // A second passes with each look at the clock.
  let now = 0;
  const clock = { now: () => (now += 1_000), sleep: async () => {} };
  const lines: number[] = [];
  const stderr = { write: (text: string) => (text.includes("attempts") ? lines.push(now) : 0) };
  const folder = await temporaryFolder();
  expect(await inProcess(folder, ["eval", spam, "--filter", "good"], { clock, stderr })).toMatchObject({ code: 0 });
  const waits = lines.map((at, n) => at - (lines[n - 1] ?? 0));
  expect(waits.length).toBeGreaterThan(3);
  expect(Math.min(...waits)).toBeGreaterThanOrEqual(5_000);
  expect(Math.min(...waits)).toBeLessThan(10_000);
});

test.each([
  ["a colour", {}, true],
  ["none with NO_COLOR", { NO_COLOR: "1" }, false],
  ["none with TERM=dumb", { TERM: "dumb" }, false],
  ["one where NO_COLOR is empty", { NO_COLOR: "" }, true],
])("CLI-3 on a terminal progress is one line that is taken away, and a verdict has %s", async (_, env, hasColour) => {
  const written: string[] = [];
  const stderr = { isTTY: true, columns: 40, write: (text: string) => written.push(text) };
  let stdout = "";
  const terminal = { isTTY: true, columns: 100, write: (text: string) => (stdout += text) };
  const folder = await temporaryFolder();
  await inProcess(folder, ["eval", spam, "--filter", "good"], { stderr, stdout: terminal, env });
  const start = "\r\u001b[K";
  expect(written.length).toBeGreaterThan(2);
  expect(written.at(-1)).toBe(start);
  for (const text of written.slice(0, -1)) expect(text.replace(start, "")).toMatch(/^good: .{0,33}$/u);
  expect(stdout.includes("\u001b[32mpassed")).toBe(hasColour);
});

test("CLI-7 CLI-1 eval exits 1 where a gate fails, and 2 where the same fault ends all attempts", async () => {
  const folder = await temporaryFolder();
  const failed = await inProcess(folder, ["eval", spam, "--filter", "bad", "--seed", "3", "--concurrency", "4"]);
  expect(failed).toMatchObject({ code: 1, stdout: expect.stringContaining("failed: ") });
  const broken = await inProcess(folder, ["eval", spam, "--filter", "broken", "--json"]);
  expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining("broken ended early: ") });
  expect(JSON.parse(broken.stdout)).toMatchObject({ reports: [{ name: "broken", ended: { why: "systemic" } }] });
});

test("CLI-7 EVL-52 eval exits 2 where a service that is down failed every attempt: nothing was measured", async () => {
  const folder = await temporaryFolder();
  const args = ["eval", join(processes, "down.eval.ts"), "--json", "--junit", "ci.xml", "--save", "saved.jsonl"];
  const asked = await inProcess(folder, args);
  expect(asked).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^proviso: down: Nothing was measured of "default": /u),
  });
  expect(asked.stderr).toMatch(/the first with server_error.*: Service down\./u);
  expect(JSON.parse(asked.stdout)).toMatchObject({
    passes: false,
    reports: [{ passes: false, variants: { default: { unmeasured: expect.stringContaining("all 6 attempts") } } }],
  });
  expect(await readFile(join(folder, "ci.xml"), "utf8")).toContain('<testsuites tests="2" failures="1" errors="0">');
  expect(asked.stderr).toContain("down is not saved: nothing was measured of a variant");
  // What is kept is the same failure, and asked again where that is wanted.
  expect(await inProcess(folder, args)).toMatchObject({ code: 2, stderr: expect.stringContaining("--retry-failed") });
});

test("CLI-6 EVL-28 the second SIGINT ends an eval at once, while what it has begun does not end", async () => {
  const folder = await temporaryFolder();
  const running = start(folder, ["eval", join(processes, "stuck.eval.ts")]);
  await running.wrote("an attempt has begun");
  running.interrupt();
  await running.wrote("interrupted once");
  const begun = performance.now();
  running.interrupt();
  const { code, stdout } = await running.ended;
  expect({ code, stdout }).toEqual({ code: 130, stdout: "" });
  // Closing is waited for 10 s.
  expect(performance.now() - begun).toBeLessThan(8_000);
});

test("CLI-1 CLI-6 CLI-7 an interrupted eval prints the report of what there is, and exits 130", async () => {
  const folder = await temporaryFolder();
  const signal = firedWhenItWaits();
  const { code, stdout } = await inProcess(folder, ["eval", spam, "--filter", "slow", "--json"], { signal });
  expect(code).toBe(130);
  expect(JSON.parse(stdout)).toMatchObject({ reports: [{ name: "slow", ended: { why: "aborted" } }] });
});

test("CLI-7 CLI-2 eval --json is one document with all reports; limits end a run", async () => {
  const folder = await temporaryFolder();
  const args = ["eval", spam, "--filter", "good", "--json"];
  const { code, stdout } = await inProcess(folder, args);
  expect(code).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ passes: true, reports: [{ name: "good", passes: true, rows: 120 }] });
  const limited = await inProcess(folder, [...args, "--fresh", "--max-tokens", "500"]);
  expect(JSON.parse(limited.stdout)).toMatchObject({ reports: [{ ended: { why: "budget" } }] });
  expect(limited.code).toBe(3);
  const part = await inProcess(folder, [...args, "--fresh", "--max-tokens", "500", "--part-is-fine"]);
  expect(part.code).toBe(0);
});

test("CLI-1 CLI-4 eval without evals, with wrong flags or without its package is one line and exit 2", async () => {
  const folder = await project();
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [["eval"], "eval takes the modules that export evals, not none"],
    [["eval", "nowhere.ts"], "there is no module"],
    [["eval", join(processes, "greetings.ts")], "exports no eval"],
    [["eval", spam, "--filter", "godo"], "did you mean good?"],
    [["eval", spam, "--max-usd", "x"], "--max-usd takes US dollars"],
    [["eval", spam, "--concurrency", "0"], "--concurrency takes a whole number from 1"],
    [["eval", spam, "--sample", "0"], "--sample takes a whole number from 1"],
    [["eval", spam, "--repeat", "x"], "--repeat takes a whole number from 1"],
    [["eval", spam, "--rows", "a,,b"], "--rows takes ids with commas between them"],
    [["eval", spam, "--fresh", "--retry-failed"], "give --fresh or --retry-failed"],
    [["eval", spam, "--save", "saved.jsonl"], "--save is for one eval: name one of "],
    [["eval", spam, "--filter", "good", "--rows", "spam-1,spam-99"], 'There is no row "spam-99"'],
    [["eval", spam, "--filter", "good", "--variant", "other"], 'There is no variant "other"'],
    [["eval", spam, "--filter", "good", "--sample", "121"], "A sample of 121 cannot be drawn from 120 rows"],
    [["eval", spam, "--filter", "good", "--compare", "nowhere.jsonl"], "nowhere.jsonl cannot be read"],
    [["eval", spam, "--filter", "good", "--store", "hello.prompt.md"], "hello.prompt.md"],
    [["eval", spam, "--filter", "good", "--junit", "hello.prompt.md/x.xml"], "cannot be made"],
    [["eavl"], "did you mean eval?"],
  ];
  for (const [args, says] of wrong) {
    const { code, stdout, stderr } = await inProcess(folder, args);
    expect({ says, code, stdout }).toEqual({ says, code: 2, stdout: "" });
    expect(stderr).toMatch(/^proviso: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
  expect(await run(folder, ["eval", spam], without("@proviso/evals"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm install --save-dev @proviso/evals @proviso/runtime"),
  });
});

interface Shown {
  readonly reports: readonly {
    readonly rows: number;
    readonly repetitions: number;
    readonly reused: number;
    readonly attempts: readonly { readonly rowId: string }[];
    readonly spent: { readonly totalTokens: number };
    readonly baseline: object;
  }[];
}

test("EVL-50 EVL-8 eval runs a part: rows by id, a sample that a larger one has in it, more attempts of each", async () => {
  const folder = await temporaryFolder();
  const good = async (...flags: readonly string[]) => {
    const { code, stdout } = await inProcess(folder, ["eval", spam, "--filter", "good", "--json", ...flags]);
    expect(code).toBe(0);
    const [report] = (JSON.parse(stdout) as Shown).reports;
    return report as Shown["reports"][number];
  };
  const named = await good("--rows", "spam-3, ham-5", "--repeat", "3", "--variant", "default");
  expect(named).toMatchObject({ rows: 2, repetitions: 3, reused: 0 });
  expect(new Set(named.attempts.map(({ rowId }) => rowId))).toEqual(new Set(["spam-3", "ham-5"]));
  const small = await good("--sample", "20", "--fresh");
  const large = await good("--sample", "40");
  const ids = new Set(large.attempts.map(({ rowId }) => rowId));
  expect([small.rows, large.rows]).toEqual([20, 40]);
  expect(small.attempts.every(({ rowId }) => ids.has(rowId))).toBe(true);
  // The smaller sample was kept, and nothing of it is asked again.
  expect(large.reused).toBeGreaterThanOrEqual(20);
  expect(large.spent.totalTokens).toBe((40 - large.reused) * 11);
});

test("EVL-50 EVL-23 eval keeps attempts in .proviso/evals.sqlite: the next run asks what is missing, --fresh all", async () => {
  const folder = await temporaryFolder();
  const args = ["eval", spam, "--filter", "good"];
  expect((await inProcess(folder, args)).stdout).toContain("1,320 tokens");
  const again = await inProcess(folder, args);
  expect(again).toMatchObject({ code: 0, stderr: "" });
  expect(again.stdout).toContain("kept         120 attempts of earlier runs\nspent        0 tokens");
  expect((await inProcess(folder, [...args, "--fresh"])).stdout).toContain("1,320 tokens");
  expect((await inProcess(folder, [...args, "--store", "other/kept.sqlite"])).stdout).toContain("1,320 tokens");
  // A failure of the surroundings is kept as it is, and asked again where that is wanted.
  const broken = ["eval", spam, "--filter", "broken", "--concurrency", "1", "--json"];
  const reusedBy = async (...flags: readonly string[]) => {
    const { reports } = JSON.parse((await inProcess(folder, [...broken, ...flags])).stdout) as Shown;
    return reports[0]?.reused;
  };
  expect([await reusedBy(), await reusedBy(), await reusedBy("--retry-failed")]).toEqual([0, 5, 0]);
});

test("EVL-50 EVL-51 eval saves a run, compares with it and writes its gates for a CI; what was cut short is not saved", async () => {
  const folder = await temporaryFolder();
  const args = ["eval", spam, "--filter", "good"];
  const saved = await inProcess(folder, [...args, "--save", "runs/good.jsonl", "--junit", "ci/good.xml"]);
  expect(saved).toMatchObject({ code: 0, stderr: "" });
  expect(await readFile(join(folder, "ci/good.xml"), "utf8")).toContain(
    '<testsuites tests="2" failures="0" errors="0">',
  );
  expect(await readFile(join(folder, "runs/good.jsonl"), "utf8")).not.toContain("You win.");
  const compared = await inProcess(folder, [...args, "--compare", "runs/good.jsonl", "--json"]);
  expect(compared.code).toBe(0);
  expect((JSON.parse(compared.stdout) as Shown).reports[0]?.baseline).toMatchObject({ saved: expect.any(String) });
  const cut = await inProcess(folder, [...args, "--fresh", "--max-tokens", "500", "--save", "runs/cut.jsonl"]);
  expect(cut.stderr).toContain("good is not saved: it ended before all attempts were made");
  await expect(readFile(join(folder, "runs/cut.jsonl"))).rejects.toMatchObject({ code: "ENOENT" });
});

test.each(["--save", "--compare", "--junit"])("EVL-50 %s is for one eval", async (flag) => {
  const folder = await temporaryFolder();
  expect(await inProcess(folder, ["eval", spam, flag, "runs/all"])).toEqual({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(`${flag} is for one eval: name one of good, bad, broken, slow with --filter`),
  });
});

test.skipIf(process.platform !== "linux").each([
  ["--junit", "/proc/x/y.xml", "the folder /proc/x cannot be made: ENOENT"],
  ["--save", "/proc/x/y/z.jsonl", "the folder /proc/x/y cannot be made: ENOENT"],
  ["--store", "/proc/x/y.sqlite", "The file of attempts /proc/x/y.sqlite cannot be opened: ENOENT"],
  ["--junit", "/proc/y.xml", "the file /proc/y.xml cannot be written: ENOENT"],
  ["--junit", ".", "cannot be written: EISDIR"],
])("EVL-50 eval %s %s is wrong usage before anything is asked", async (name, file, message) => {
  const folder = await temporaryFolder();
  const { code, stdout, stderr } = await inProcess(folder, ["eval", spam, "--filter", "good", name, file]);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});

test.skipIf(process.platform !== "linux")("EVL-50 eval --junit writes into what is no file, too", async () => {
  const folder = await temporaryFolder();
  const { code } = await inProcess(folder, ["eval", spam, "--filter", "good", "--junit", "/dev/null"]);
  expect(code).toBe(0);
  expect((await stat("/dev/null")).isCharacterDevice()).toBe(true);
});

test("EVL-50 STA-5 eval --stop-early ends when the gates are settled, which is no early end, and is saved", async () => {
  const folder = await temporaryFolder();
  const args = [
    "eval",
    spam,
    "--filter",
    "good",
    "--concurrency",
    "1",
    "--stop-early",
    "--json",
    "--save",
    "good.jsonl",
  ];
  const { code, stdout, stderr } = await inProcess(folder, args);
  expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.not.stringContaining("not saved") });
  const { reports } = JSON.parse(stdout) as Shown;
  expect(reports).toMatchObject([{ ended: { why: "settled" }, gates: [{ verdict: "passed" }] }]);
  expect(reports[0]?.attempts.length).toBeLessThan(120);
  expect(await readFile(join(folder, "good.jsonl"), "utf8")).toContain("proviso-eval/1");
});
