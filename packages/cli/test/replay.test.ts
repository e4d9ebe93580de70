import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunJson } from "@proviso/cli";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { fussy } from "./processes/fussy.ts";
import { shop } from "./processes/shop.ts";
import { inProcess, project, run, without } from "./support.ts";

/** A project with one recorded run of hello.prompt.md. */
async function recordedProject(path: string) {
  const folder = await project();
  const args = ["run", "hello.prompt.md", "--param", "name=Ada", "--json", "--runs", path];
  const { runId } = JSON.parse((await inProcess(folder, args)).stdout) as RunJson;
  return { folder, runId };
}

test.each(["runs.db", "kept/"])(
  "CLI-7 runs replay runs a recorded evaluation of %s through the code of today, and writes nothing",
  async (path) => {
    const { folder, runId } = await recordedProject(path);
    const contents = async (): Promise<readonly string[]> => {
      const place = path === "runs.db" ? folder : join(folder, path);
      const names = (await readdir(place)).filter((name) => /^runs\.db$|jsonl$/.test(name));
      return Promise.all(names.toSorted().map((name) => readFile(join(place, name), "base64")));
    };
    const before = await contents();
    const args = ["runs", "replay", runId, "hello.prompt.md", "--runs", path];
    const same = await inProcess(folder, args);
    expect(same).toMatchObject({
      code: 0,
      stderr: "",
      stdout: expect.stringMatching(/^The same for all \d+ events; executed\n$/),
    });
    expect(JSON.parse((await inProcess(folder, [...args, "--json"])).stdout)).toMatchObject({
      runId,
      same: true,
      outcome: "executed",
    });

    await writeFile(join(folder, "hello.prompt.md"), "Good morning, {{name}}.\n");
    const parted = await inProcess(folder, args);
    expect(parted).toMatchObject({ code: 1, stderr: "" });
    expect(parted.stdout).toContain('text was "Hello, Ada." and is "Good morning, Ada."');
    const document = await inProcess(folder, [...args, "--json"]);
    expect(document.code).toBe(1);
    expect(JSON.parse(document.stdout)).toMatchObject({ same: false, divergence: { recorded: "Hello, Ada." } });
    expect(await contents()).toEqual(before);
  },
);

test("CLI-7 RPL-3 runs replay --tools run runs the tools again, and names the call that comes to something else", async () => {
  const folder = await project();
  const journal = sqliteJournal(join(folder, "runs.db"));
  const call = { toolCalls: [{ name: "price", arguments: { net: 10 } }] };
  await modelAdapter(scriptedModel([call, { text: "20." }])).evaluate(shop.bind(), { run: journal.run("x") });
  await journal.close();
  const module = join(import.meta.dirname, "processes", "shop.ts");
  const args = ["runs", "replay", "x", `${module}#shop`, "--runs", "runs.db"];
  const rerun = [...args, "--tools", "run"];
  expect(await run(folder, rerun)).toMatchObject({ code: 0, stdout: expect.stringContaining("The same for all") });
  expect(await run(folder, args, { SHOP_RATE: "3" })).toMatchObject({ code: 0 });
  const parted = await run(folder, rerun, { SHOP_RATE: "3" });
  expect([parted.code, parted.stdout]).toEqual([1, expect.stringContaining("price: result.value was 20 and is 30")]);
  for (const [given, says] of [
    [["runs", "replay", "x", "shop.ts", "--tools", "ran"], "--tools takes recorded, run, not ran"],
    [["runs", "list", "--tools", "run"], "--tools is for runs replay"],
  ] as const) {
    expect(await inProcess(folder, given)).toMatchObject({ code: 2, stderr: expect.stringContaining(says) });
  }
});

test("CLI-7 RPL-1 a prompt that cannot be rendered any more is not the same", async () => {
  const folder = await project();
  const journal = sqliteJournal(join(folder, "runs.db"));
  await modelAdapter(scriptedModel([{ text: "Hello." }])).evaluate(fussy.bind(), { run: journal.run("x") });
  await journal.close();
  const args = [
    "runs",
    "replay",
    "x",
    `${join(import.meta.dirname, "processes", "fussy.ts")}#fussy`,
    "--runs",
    "runs.db",
  ];
  expect(await run(folder, args)).toMatchObject({ code: 0 });
  const failed = await run(folder, args, { FUSSY: "yes" });
  expect(failed).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("Not today.") });
  const document = await run(folder, [...args, "--json"], { FUSSY: "yes" });
  expect(JSON.parse(document.stdout)).toMatchObject({ error: { code: "render" } });
});

test("CLI-7 CLI-1 a replay of a run that is not there exits 1, and one that cannot begin 2", async () => {
  const { folder } = await recordedProject("runs.db");
  const at = ["--runs", "runs.db"];
  const none = await inProcess(folder, ["runs", "replay", "nobody", "hello.prompt.md", "--json", ...at]);
  expect(none).toMatchObject({ code: 1, stderr: 'proviso: There is no run "nobody".\n' });
  expect(JSON.parse(none.stdout)).toEqual({ error: { code: "not_found", message: 'There is no run "nobody".' } });
  for (const [args, says] of [
    [["runs", "replay", "x", ...at], "the id of a run and the prompt that it is checked against, not x"],
    [["runs", "replay", "x", "nowhere.ts", ...at], "there is no module"],
    [["runs", "replay", "x", "hello.prompt.md", "--runs", "nowhere.db"], "There is no journal at"],
    [["runs", "replay", "x", "hello.prompt.md", "--runs", "slow.md"], "slow.md"],
  ] as const) {
    const { code, stderr } = await inProcess(folder, args);
    expect({ says, code }).toEqual({ says, code: 2 });
    expect(stderr).toContain(says);
  }
  expect(await run(folder, ["runs", "replay", "x", "hello.prompt.md"], without("@proviso/journal"))).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("npm install --save-dev @proviso/journal @proviso/runtime"),
  });
});
