// Commands whose readers have left, as `proviso eval … | head -1` has it.
import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { env, processes, program, project, recorded, temporaryFolder } from "./support.ts";

const spam = join(processes, "spam.eval.ts");

/** Runs a command whose stdout or stderr nobody reads. */
function unread(folder: string, gone: "stdout" | "stderr", args: readonly string[]) {
  const child = spawn(process.execPath, [...program, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  child[gone].destroy();
  let read = "";
  child[gone === "stdout" ? "stderr" : "stdout"].on("data", (chunk: Buffer) => (read += chunk.toString()));
  return new Promise<{ readonly code: number | null; readonly read: string }>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => done({ code, read }));
  });
}

test.each([
  ["good", 0, 'failures="0"'],
  ["bad", 1, 'failures="1"'],
])(
  "CLI-2 CLI-7 eval without a reader of stdout writes its files and exits by its gates (%s)",
  async (name, code, junit) => {
    const folder = await temporaryFolder();
    const files = ["--junit", "eval.xml", "--save", "eval.jsonl"];
    const ended = await unread(folder, "stdout", ["eval", spam, "--filter", name, ...files]);
    expect(ended).toEqual({ code, read: "" });
    expect(await readFile(join(folder, "eval.xml"), "utf8")).toContain(junit);
    expect(JSON.parse(await readFile(join(folder, "eval.jsonl"), "utf8"))).toMatchObject({ name });
  },
);

test("CLI-2 eval without a reader of stderr goes on, and prints its report", async () => {
  const folder = await temporaryFolder();
  // Why it ended early is said on stderr.
  const args = ["eval", spam, "--filter", "broken"];
  const { code, read } = await unread(folder, "stderr", args);
  expect(code).toBe(2);
  expect(read).toContain("broken   60 rows");
});

/** Runs a command whose reader leaves as soon as it has read something, as `| head -1` does. */
function readOnce(folder: string, args: readonly string[]) {
  const child = spawn(process.execPath, [...program, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  let [read, reported] = [0, ""];
  child.stdout.once("data", (chunk: Buffer) => {
    read = chunk.length;
    child.stdout.destroy();
  });
  child.stderr.on("data", (chunk: Buffer) => (reported += chunk.toString()));
  return new Promise<{ readonly code: number | null; readonly read: number; readonly reported: string }>(
    (done, fail) => {
      child.on("error", fail);
      child.on("close", (code) => done({ code, read, reported }));
    },
  );
}

test("CLI-2 a command whose reader leaves in the middle exits as it would, and reports nothing", async () => {
  const folder = await temporaryFolder();
  const path = join(folder, "long.db");
  const journal = sqliteJournal(path);
  // More than a pipe holds, many times over.
  for (const [id, answer] of [
    ["long", "A line of a long answer.\n"],
    ["other", "Another line of it.\n"],
  ] as const) {
    const model = scriptedModel([{ text: answer.repeat(200_000) }]);
    await modelAdapter(model).evaluate("Say more.", { run: journal.run(id) });
  }
  await journal.close();
  for (const [args, code] of [
    [["show", "long"], 0],
    [["show", "long", "--json"], 0],
    [["diff", "long", "other", "--json"], 1],
  ] as const) {
    const ended = await readOnce(folder, ["runs", "--runs", path, ...args]);
    expect(ended).toMatchObject({ code, reported: "" });
    expect(ended.read).toBeLessThan(1_000_000);
  }
});

test("CLI-2 CLI-7 a chat whose reader leaves begins no further turn, though there are lines without end", async () => {
  const folder = await project();
  const child = spawn(process.execPath, [...program, "chat"], { cwd: folder, env, stdio: ["pipe", "pipe", "pipe"] });
  child.stdin.on("error", () => {});
  let [read, reported] = ["", ""];
  child.stdout.on("data", (chunk: Buffer) => {
    read += chunk.toString();
    child.stdout.destroy();
  });
  child.stderr.on("data", (chunk: Buffer) => (reported += chunk.toString()));
  const typing = setInterval(() => child.stdin.write("Once more.\n"), 20);
  onTestFinished(() => clearInterval(typing));
  const code = await new Promise((done) => void child.on("close", done));
  expect({ code, reported }).toEqual({ code: 0, reported: "" });
  expect(read).toContain("You said");
  const journal = sqliteJournal(join(folder, ".proviso", "runs.db"));
  onTestFinished(() => journal.close());
  let runs = 0;
  for await (const _run of journal.list()) runs += 1;
  expect(runs).toBeLessThan(10);
});

/** Runs a command whose stdout is a full disk. */
async function onFullDisk(folder: string, args: readonly string[]) {
  const full = await open("/dev/full", "w");
  onTestFinished(() => full.close());
  const stdio = ["ignore", full.fd, "pipe"] as const;
  const child = spawn(process.execPath, [...program, ...args], { cwd: folder, env, stdio: [...stdio] });
  let reported = "";
  child.stderr?.on("data", (chunk: Buffer) => (reported += chunk.toString()));
  const code = await new Promise((done) => void child.on("close", done));
  return { code, reported };
}

test.skipIf(process.platform !== "linux").each([["--json"], []])(
  "CLI-2 output that cannot be written, on a full disk for example, is reported, and exits with 1: %s",
  async (...flags) => {
    const { folder, path } = await recorded();
    expect(await onFullDisk(folder, ["runs", "list", ...flags, "--runs", path])).toEqual({
      code: 1,
      reported: expect.stringContaining("the output cannot be written: ENOSPC"),
    });
  },
);

test.skipIf(process.platform !== "linux")(
  "CLI-1 CLI-2 wrong usage exits with 2 on a full disk too, and where nothing is written, that is no fault",
  async () => {
    const folder = await temporaryFolder();
    const usage = 'proviso: there is no lsit: try "proviso --help"\n';
    expect(await onFullDisk(folder, ["lsit"])).toEqual({ code: 2, reported: usage });
    const written = await onFullDisk(folder, ["lsit", "--json"]);
    expect(written).toEqual({ code: 2, reported: expect.stringContaining(usage) });
    expect(written.reported).toContain("the output cannot be written: ENOSPC");
  },
);
