import { definePolicy, definePrompt, defineTool, suspend } from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { z } from "zod";
import { env, program, recorded, start, type Ended } from "./support.ts";

test.each(["sqlite", "folder"] as const)(
  "CLI-8 runs of a %s are listed and shown, the undone call as undone",
  async (kind) => {
    const { run } = await recorded(kind);
    const listed = await run("runs", "list", "--undone");
    expect(listed).toMatchObject({ code: 0, stderr: "" });
    const [head, ...rows] = listed.stdout.trimEnd().split("\n");
    expect(head).toMatch(/^started +run +prompt +model +turns +calls +undone +waits +tokens +\$ +took +status$/);
    expect(rows.map((row) => row.split(/ {2,}/)[1] ?? "").toSorted()).toEqual(["again", "first"]);

    const shown = await run("runs", "show", "first");
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toContain('call      done     note {"path":"a.ts"}\n');
    expect(shown.stdout).toContain('call      undone   note {"path":"b.ts"}\n');
    expect(shown.stdout).toMatch(/app\/review on \S+: 2 turns, 2 calls, 1 undone, 0 waits, \d+ tokens, .* executed\n$/);
  },
);

test("CLI-8 runs diff names the step where two runs part and exits 1 there, and 0 where they are the same", async () => {
  const { run } = await recorded();
  expect(await run("runs", "diff", "first", "again")).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^The same for all \d+ steps; tokens \d+ and \d+\.\n$/),
  });
  const { code, stdout } = await run("runs", "diff", "first", "second");
  expect({ code, stdout }).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^They part at step \d+, the call; tokens [^\n]*\n- call undone note .*b\.ts.*\n\+ call done note .*c\.ts.*\n$/,
    ),
  });
});

test("CLI-8 runs diff shows what differs, shortened around the first difference, where the titles are the same", async () => {
  const { path, run } = await recorded();
  const journal = sqliteJournal(path);
  let result = "";
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => result });
  const ask = definePrompt({
    ns: "app",
    key: "ask",
    params: z.object({ who: z.string() }),
    sections: [{ key: "task", text: "Look.", tools: [look] }],
  });
  for (const [id, who, found] of [
    ["a", "Ada", "x".repeat(900)],
    ["b", "Bob", ""],
    ["c", "Ada", `${"x".repeat(500)}\u001b[2J${"x".repeat(399)}`],
  ] as const) {
    result = found;
    const model = scriptedModel([{ toolCalls: [{ name: "look", arguments: {} }] }, { text: "Done." }]);
    await modelAdapter(model).evaluate(ask.bind({ who }), { run: journal.run(id) });
  }
  await journal.close();
  const params = await run("runs", "diff", "a", "b");
  expect(params.code).toBe(1);
  expect(params.stdout.split("\n").slice(1)).toEqual([
    "  prompt done app/ask, 1 section",
    '-   {"who":"Ada"}',
    '+   {"who":"Bob"}',
    "",
  ]);
  const results = (await run("runs", "diff", "a", "c")).stdout.split("\n");
  expect(results[0]).toMatch(/^They part at step \d+, the result; /);
  expect(results.slice(1)).toEqual([
    expect.stringMatching(/^  call done look/),
    expect.stringMatching(/^-   …x{60}x{140}…$/),
    // What could steer a terminal is shown as JSON and the terminal's own escapes have it.
    expect.stringMatching(/^\+   …x{60}\\u001b\[2Jx{131}…$/),
    "",
  ]);
});

test("CLI-8 a run that waits for a decision is listed as suspended, and found as that", async () => {
  const { path, run } = await recorded();
  const journal = sqliteJournal(path);
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
  const chief = definePolicy({ name: "chief", check: () => suspend("Pay?") });
  const prompt = definePrompt({ key: "pays", sections: [{ key: "task", text: "Pay.", tools: [pay] }] }).bind();
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "pay", arguments: {} }] }]));
  await adapter.evaluate(prompt, { run: journal.run("waits"), policies: [chief] }).catch(() => {});
  await journal.close();
  const rows = (await run("runs", "list", "--status", "suspended")).stdout.trimEnd().split("\n").slice(1);
  expect(rows).toEqual([expect.stringMatching(/ waits .* suspended$/)]);
});

test("CLI-2 --json is exactly one document, also where it failed, and a query finds the same runs", async () => {
  const { run } = await recorded();
  const list = JSON.parse((await run("runs", "list", "--json", "--text", "SECOND")).stdout) as {
    readonly runs: object[];
  };
  expect(list.runs).toMatchObject([{ runId: "second", promptName: "app/review", status: "executed", undone: 0 }]);
  expect(JSON.parse((await run("runs", "show", "first", "--json")).stdout)).toMatchObject({
    summary: { runId: "first", undone: 1 },
    rows: expect.arrayContaining([expect.objectContaining({ kind: "call", status: "undone" })]),
  });
  const differing = await run("runs", "diff", "first", "second", "--json");
  expect(differing.code).toBe(1);
  expect(JSON.parse(differing.stdout)).toMatchObject({ parted: { what: "call" } });
  const none = await run("runs", "show", "nobody", "--json");
  expect(none).toMatchObject({ code: 1, stderr: 'proviso: There is no run "nobody".\n' });
  expect(JSON.parse(none.stdout)).toEqual({ error: { code: "not_found", message: 'There is no run "nobody".' } });
});

test("CLI-8 a folder that is empty, or has what a system puts into it, is a journal without runs", async () => {
  const { folder, run } = await recorded();
  await mkdir(join(folder, "empty"));
  expect(await run("runs", "list", "--runs", "empty")).toEqual({ code: 0, stdout: "No runs.\n", stderr: "" });
  await writeFile(join(folder, "empty", ".DS_Store"), "");
  expect(await run("runs", "list", "--runs", "empty")).toMatchObject({ code: 0 });
});

test("CLI-1 CLI-4 wrong usage, and a journal that cannot be read, are one line with the nearest name and exit 2", async () => {
  const { folder, run } = await recorded();
  await writeFile(join(folder, "notes.txt"), "no journal");
  await writeFile(join(folder, "hello.md"), "Hello.");
  await mkdir(join(folder, "others", "deep"), { recursive: true });
  await writeFile(join(folder, "others", "rows.json"), "[]");
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [["runs"], "runs takes list, show, diff, replay, not nothing"],
    [["runs", "lst"], "did you mean list?"],
    [["runs", "list", "--jsn"], "there is no flag --jsn; did you mean --json?"],
    [["runs", "list", "--status", "fialed"], "did you mean failed?"],
    [["runs", "list", "--limit", "501"], "from 1 to 500, not 501"],
    [["runs", "list", "more"], "takes no argument, not more"],
    [["runs", "show"], "takes the id of one run, not none"],
    [["runs", "show", "first", "--undone"], "--undone is for runs list"],
    [["runs", "diff", "first"], "takes the ids of two runs, not first"],
    [["runs", "list", "--runs", "nowhere.db"], "There is no journal at"],
    [["runs", "list", "--runs", "notes.txt"], "notes.txt"],
    [["runs", "list", "--runs", "others"], "others is no journal: none of its files is that of a run, <id>.jsonl"],
    [["runs", "show", "first", "--runs", "others"], "others is no journal"],
    [["runs", "replay", "first", "hello.md", "--runs", "others"], "others is no journal"],
    [["runs", "list", "--limit", ""], 'from 1 to 500, not ""'],
    [["runs", "list", "--status", ""], 'stopped, not ""'],
    [["runs", "list", "", "a b"], 'takes no argument, not "" "a b"'],
    [["runs", ""], 'runs takes list, show, diff, replay, not ""'],
    [[""], 'there is no command "": try "proviso --help"'],
    [["runs list"], 'there is no command "runs list"'],
    [["rnus", "list"], "did you mean runs?"],
  ];
  const ended = await Promise.all(wrong.map(async ([args, says]) => ({ ...(await run(...args)), says })));
  for (const { code, stdout, stderr, says } of ended) {
    expect({ says, code, stdout }).toEqual({ says, code: 2, stdout: "" });
    expect(stderr).toMatch(/^proviso: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
});

test("CLI-3 texts of a run cannot steer a terminal, and the journal stays as it is", async () => {
  const { folder, path, run } = await recorded();
  const before = await readFile(path);
  const terminal = { inTerminal: true, more: { NO_COLOR: "1" } };
  const { stdout: inTerminal } = await start(folder, ["runs", "show", "first"], terminal).ended;
  const { stdout } = await run("runs", "show", "first");
  expect(inTerminal.replaceAll("\r\n", "\n")).toBe(stdout);
  expect(stdout).not.toContain("\u001b");
  expect(stdout).toContain("| \\u001b[31mAll of it.");
  expect(stdout).toContain("b.ts is \\u001b[2Jnot there.");
  expect((await readFile(path)).equals(before)).toBe(true);
});

test("CLI-2 a reader that leaves is no error", async () => {
  const { folder } = await recorded();
  const command = [process.execPath, ...program, "runs", "show", "first", "--json"].map((arg) => `'${arg}'`);
  const ended = await new Promise<Ended>((done) => {
    const line = `set -o pipefail; ${command.join(" ")} | true; echo "$?"`;
    execFile("bash", ["--norc", "-c", line], { cwd: folder, env }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
  expect(ended).toEqual({ code: 0, stdout: "0\n", stderr: "" });
});

test("CLI-1 the help of the command and of runs has an example, and exits 0", async () => {
  const { run } = await recorded();
  expect(await run("--help")).toMatchObject({ code: 0, stdout: expect.stringContaining("  runs ") });
  const help = await run("runs", "--help");
  expect(help).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("Example: proviso runs list") });
});

test("CLI-3 colours are for terminals, off with NO_COLOR or TERM=dumb, on with FORCE_COLOR, and say nothing alone", async () => {
  const { folder, run: inPipe } = await recorded();
  const args = ["runs", "show", "first"];
  const { stdout: plain } = await inPipe(...args);
  expect(plain).not.toContain("\u001b");
  const shown = async (inTerminal: boolean, more: Record<string, string>): Promise<string> =>
    (await start(folder, args, { inTerminal, more }).ended).stdout.replaceAll("\r\n", "\n");
  const inColours = await shown(true, {});
  expect(inColours).toContain('\u001b[33mcall      undone   note {"path":"b.ts"}\u001b[39m');
  expect(stripVTControlCharacters(inColours)).toBe(plain);
  expect(await shown(true, { NO_COLOR: "1" })).toBe(plain);
  expect(await shown(true, { TERM: "dumb" })).toBe(plain);
  expect(await shown(false, { FORCE_COLOR: "1" })).toBe(inColours);
  expect(await shown(true, { FORCE_COLOR: "0" })).toBe(plain);
});
