import { join } from "node:path";
import { expect, test } from "vitest";
import { inProcess, processes, project, run, start, temporaryFolder, without } from "./support.ts";

const spam = join(processes, "spam.eval.ts");

test.each([false, true])(
  "CLI-7 eval prints the report and exits 0 where all gates pass (in a terminal: %s)",
  async (inTerminal) => {
    const folder = await temporaryFolder();
    const { code, stdout, stderr } = await start(folder, ["eval", spam, "--filter", "good"], { inTerminal }).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toContain("good   120 rows");
    expect(stdout).toMatch(/gate +correct at least 0\.5 +default +passed/);
    // Progress is written over on a terminal alone.
    expect(stdout.includes("120 of 120 attempts")).toBe(inTerminal);
    expect(stdout.includes("\u001b[K")).toBe(inTerminal);
  },
);

test("CLI-7 CLI-1 eval exits 1 where a gate fails, and 2 where the same fault ends all attempts", async () => {
  const folder = await temporaryFolder();
  const failed = await inProcess(folder, ["eval", spam, "--filter", "bad", "--seed", "3", "--concurrency", "4"]);
  expect(failed).toMatchObject({ code: 1, stdout: expect.stringContaining("failed: ") });
  const broken = await inProcess(folder, ["eval", spam, "--filter", "broken", "--json"]);
  expect(broken).toMatchObject({ code: 2, stderr: expect.stringContaining("broken ended early: ") });
  expect(JSON.parse(broken.stdout)).toMatchObject({ reports: [{ name: "broken", ended: { why: "systemic" } }] });
});

test("CLI-7 CLI-6 an interrupted eval prints the report of what there is, and exits 130", async () => {
  const folder = await temporaryFolder();
  const signal = AbortSignal.timeout(1_000);
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
  const limited = await inProcess(folder, [...args, "--max-tokens", "500"]);
  expect(JSON.parse(limited.stdout)).toMatchObject({ reports: [{ ended: { why: "budget" } }] });
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
