// Commands whose readers have left, as `proviso eval … | head -1` has it.
import { spawn } from "node:child_process";
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { env, processes, program, recorded, temporaryFolder } from "./support.ts";

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

test("CLI-2 a command that only prints ends without a reader of stdout, with 0", async () => {
  const { folder, path } = await recorded();
  expect(await unread(folder, "stdout", ["runs", "show", "first", "--runs", path])).toEqual({ code: 0, read: "" });
  expect(await unread(folder, "stdout", ["runs", "diff", "first", "second", "--runs", path])).toEqual({
    code: 1,
    read: "",
  });
});

test.skipIf(process.platform !== "linux").each([["--json"], []])(
  "CLI-2 output that cannot be written, on a full disk for example, is reported, and exits with 1: %s",
  async (...flags) => {
    const { folder, path } = await recorded();
    const full = await open("/dev/full", "w");
    onTestFinished(() => full.close());
    const args = [...program, "runs", "list", ...flags, "--runs", path];
    const child = spawn(process.execPath, args, { cwd: folder, env, stdio: ["ignore", full.fd, "pipe"] });
    let reported = "";
    child.stderr?.on("data", (chunk: Buffer) => (reported += chunk.toString()));
    const code = await new Promise((done) => void child.on("close", done));
    expect({ code, reported }).toEqual({
      code: 1,
      reported: expect.stringContaining("the output cannot be written: ENOSPC"),
    });
  },
);
