import { once } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import { folderWith, main, messy, newRuns, start, started, tidy } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

/** The review, and what its end says beside the time. */
const reviewIn = (stdout: string): string => /\n(Read [\s\S]*?)\nturns/.exec(stdout)?.[1] ?? "";
const rowIn = (stdout: string, name: string): string => new RegExp(`^${name} +(.*)$`, "m").exec(stdout)?.[1] ?? "";

test("DEMO-15 killed with -9 again and again, it goes on where it was, and gives the same review", async () => {
  const folder = await folderWith(messy);
  const plain = (await start([folder]).ended).stdout;
  const runs = newRuns();
  const run = (...more: readonly string[]) => start([folder, "--resume", "--runs", runs, "--latency-ms", ...more]);
  const first = run("400");
  await expect.poll(first.stdout, { timeout: 120_000 }).toContain("turn 2");
  first.child.kill("SIGKILL");
  await first.ended;
  expect(first.stdout()).toContain("No review of this folder was interrupted: a new one begins.");
  const second = run("400");
  // Turn 3 is in the record by then.
  await expect.poll(second.stdout, { timeout: 120_000 }).toContain("turn 4");
  second.child.kill("SIGKILL");
  await second.ended;
  const [, id = "", kept = ""] =
    /^Going on with (review-\w+), after (\d+) steps? of it\.$/m.exec(second.stdout()) ?? [];
  expect(Number(kept)).toBeGreaterThan(1);

  const { code, stdout, stderr } = await run("1").ended;
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`Going on with ${id}, after `);
  expect(stdout).not.toMatch(/^turn [123] /m);
  expect(reviewIn(stdout)).toBe(reviewIn(plain));
  expect(reviewIn(stdout)).toContain("Read 6 of 6 files");
  for (const row of ["turns", "tool calls", "rolled back", "notes kept"])
    expect(rowIn(stdout, row)).toBe(rowIn(plain, row));
  // What was spent before counts.
  expect(rowIn(stdout, "tokens")).toBe(rowIn(plain, "tokens"));
  const [, from, all] = /^(\d+) of (\d+) steps$/.exec(rowIn(stdout, "from record")) ?? [];
  expect(Number(from)).toBeGreaterThan(Number(kept));
  expect(Number(all)).toBe(Number(rowIn(plain, "turns")) + Number(rowIn(plain, "tool calls")));
  expect(plain).not.toContain("from record");
  // It has its answer: there is nothing to go on with.
  expect((await run("1").ended).stdout).toContain("No review of this folder was interrupted: a new one begins.");
});

test("DEMO-15 a review that a limit or Ctrl-C ended goes on too, and one of another folder does not", async () => {
  const runs = newRuns();
  const [folder, other] = [await folderWith(messy), await folderWith(tidy)];
  expect((await start([folder, "--runs", runs, "--deadline-ms", "250", "--latency-ms", "100"]).ended).code).toBe(1);
  const { stdout } = await start([other, "--runs", runs, "--resume"]).ended;
  expect(stdout).toContain("a new one begins");
  const again = await start([folder, "--runs", runs, "--resume"]).ended;
  expect([again.code, again.stdout]).toEqual([0, expect.stringContaining("Going on with review-")]);
  expect(rowIn(again.stdout, "from record")).toMatch(/^\d+ of 1\d steps$/);
});

test("DEMO-14 the line at its end opens its own run in the viewer, until it is interrupted", async () => {
  const runs = newRuns();
  const { stdout } = await start([await folderWith(messy), "--runs", runs]).ended;
  await start([await folderWith(tidy), "--runs", runs]).ended;
  const [, command = ""] = /^Look at this run: npx -y pnpm@12 demo (.+)$/m.exec(stdout) ?? [];
  expect(command).toMatch(new RegExp(`^--view review-\\w+ --runs ${runs}$`));
  // Not as a bundle: the page stands beside the sources.
  const viewing = started(["--conditions=@proviso/source", main, ...command.split(" ")]);
  await expect.poll(viewing.stdout, { timeout: 120_000 }).toContain("Ctrl-C ends it.");
  const [, url = "", token = "", id = ""] =
    /^Open (http:\S+?)\/#t=([\w-]+)&\/run\/(\S+)$/m.exec(viewing.stdout()) ?? [];
  expect(command).toContain(` ${id} `);
  const response = await fetch(`${url}/api/run/${id}`, { headers: { authorization: `Bearer ${token}` } });
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("code-review")]);
  expect(await (await fetch(`${url}/page.js`)).text()).toContain("sessionStorage");
  viewing.child.kill("SIGINT");
  expect(await viewing.ended).toMatchObject({ code: 130, stderr: "" });

  const newest = start(["--view", "--json", "--runs", runs]);
  onTestFinished(() => void newest.child.kill("SIGKILL"));
  await expect.poll(newest.stdout, { timeout: 120_000 }).toContain("}");
  expect((JSON.parse(newest.stdout()) as { url: string }).url).not.toContain(id);
  newest.child.kill("SIGTERM");
  await once(newest.child, "exit");
});

test("DEMO-14 what cannot be opened or recorded is one line and exit 2", async () => {
  const runs = newRuns();
  const note = `${await folderWith({ "note.txt": "Not a database. ".repeat(500) })}/note.txt`;
  await start([await folderWith(tidy), "--runs", runs]).ended;
  for (const [args, says] of [
    [["--view", "--runs", `${runs}-none`], "There is no journal at"],
    [["--view", "review-none", "--runs", runs], "there is no recorded review review-none"],
    [["--view", "--resume"], "give one of them"],
    [["--view", "a", "b"], "one run at a time, not 2."],
    [["--view", "--runs", note], "note.txt"],
    [[await folderWith(tidy), "--runs", note], "reviews cannot be recorded"],
    [["--runs="], "--runs takes the name of a file."],
  ] as const) {
    const { code, stdout, stderr } = await start(args).ended;
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^code-review: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
});
