import { commandLine, type CommandLineOptions } from "@proviso/adapter-process";
import { ProcessError } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { failureOf, folder, hello } from "./support/command.ts";

test("CMD-9 a command that does not exist is a ProcessError that says what to do, and is not tried again", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const error = await failureOf(commandLine({ command: "proviso-no-such-command" }).evaluate(hello, { session }));
  expect(error).toBeInstanceOf(ProcessError);
  expect(error).toMatchObject({ code: "process", phase: "request", exitCode: null, signal: null, stderr: "" });
  expect(error.message).toContain('"proviso-no-such-command" was not found');
  expect(events.filter(({ type }) => type === "provider.requested")).toHaveLength(1);
});

test("CMD-9 what cannot be started is reported as what it is, with what to do", async () => {
  const home = folder();
  const [inside, text, orphan] = [join(home, "inside"), join(home, "text"), join(home, "orphan")];
  mkdirSync(inside);
  writeFileSync(text, "no program", { mode: 0o600 });
  writeFileSync(orphan, "#!/no/such/interpreter\n", { mode: 0o700 });
  const cases: readonly (readonly [CommandLineOptions, string])[] = [
    [{ command: join(home, "nothing") }, "does not exist: check its path"],
    [{ command: "./nothing", cwd: home }, "does not exist: check its path"],
    [{ command: join(text, "nothing") }, "a part of its path is no folder"],
    [{ command: inside }, "is a folder: give the path of a program in it"],
    [{ command: "./inside", cwd: home }, "is a folder"],
    [{ command: text }, "may not be run: make it executable (chmod +x)"],
    [{ command: orphan }, "the interpreter in its first line was not found"],
    [{ command: "cat", cwd: join(home, "nothing") }, `its folder "${join(home, "nothing")}" does not exist`],
    [{ command: "cat", cwd: text }, `its cwd "${text}" is no folder`],
    [{ command: "cat", args: ["x".repeat(4_000_000)] }, "too long. Put long texts into the prompt"],
  ];
  for (const [options, why] of cases) {
    const error = await failureOf(commandLine(options).evaluate(hello));
    expect(error).toBeInstanceOf(ProcessError);
    expect(error.message).toContain(why);
  }
});

const program = `
  import { commandLine } from "@proviso/adapter-process";
  import { definePrompt } from "@proviso/core";
  const prompt = definePrompt({ key: "many", text: "Hi." }).bind();
  const adapter = commandLine({ command: "cat" });
  const asked = Array.from({ length: 60 }, () => adapter.evaluate(prompt));
  const ends = (await Promise.allSettled(asked)).map(({ reason }) => reason?.message ?? "answered");
  console.log(JSON.stringify({ ends: [...new Set(ends)].sort(), after: (await adapter.evaluate(prompt)).output }));
`;

test("CMD-9 where no more files can be open, some fail and say so, and the rest and the next are answered", async () => {
  const command = `ulimit -n 80 && exec "$0" --conditions=@proviso/source --input-type=module -e "$1"`;
  const options = { cwd: join(import.meta.dirname, ".."), timeout: 300_000 };
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", command, process.execPath, program], options);
  const why = "too many files are open. Evaluate less at the same time, or raise ulimit -n.";
  const ends = ["answered", `The command "cat" could not be started: ${why}`].toSorted();
  expect(JSON.parse(stdout)).toEqual({ ends, after: "Hi." });
});
