import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { folder, gone, idsIn, script } from "./support/command.ts";
import { fromSources } from "../../../scripts/from-sources.ts";

/** Runs a program in a process of its own, and says how long it was there after its last line. */
async function runProgram(
  program: string,
  ...args: string[]
): Promise<{ readonly lines: readonly string[]; ms: number }> {
  const options = { cwd: join(import.meta.dirname, ".."), timeout: 300_000 };
  const before = [...fromSources, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, [...before, ...args], options);
  const lines = stdout.trim().split("\n");
  return { lines: lines.slice(0, -1), ms: Date.now() - Number(lines.at(-1)) };
}

const start = `
  import { commandLine } from "@proviso/adapter-process";
  import { deadlineIn, definePrompt } from "@proviso/core";
  const prompt = definePrompt({ key: "leftovers", text: "Hi." }).bind();
  const [script, more] = process.argv.slice(1);
  const node = (...args) => commandLine({ command: process.execPath, args: [script, ...args], throttle: { maxAttempts: 1 } });
  for (const event of ["warning", "unhandledRejection"]) process.on(event, (what) => console.log(event, what));
`;

const ends = `
  const controller = new AbortController();
  const end = (adapter, options) => adapter.evaluate(prompt, options).then(() => "answered", (error) => error.code);
  // Its grace is over long before the rest is.
  const codes = [await end(node("stubborn"), { deadline: deadlineIn(100) })];
  for (let i = 0; i < 15; i++) codes.push(await end(commandLine({ command: "cat" }), { signal: controller.signal }));
  codes.push(await end(node("exit", "3"), { deadline: deadlineIn(60_000) }));
  codes.push(await end(node("leave", more)), await end(commandLine({ command: "proviso-no-such-command" })));
  await Promise.all(Array.from({ length: 15 }, () => end(commandLine({ command: "cat" }), { signal: controller.signal })));
  console.log([...new Set(codes)].join(" "), process.listenerCount("exit"));
  codes.push(await end(commandLine({ command: "cat" })));
  console.log(process.getActiveResourcesInfo().filter((name) => name === "Timeout").length);
  console.log(Date.now());
`;

test("CMD-6 SEC-3 nothing is left that keeps a program alive or warns, whatever its commands came to", async () => {
  // What runs out its time (a second for the exit, ten minutes for the answer) would hold it longer, every time.
  let isPrompt = false;
  for (let tried = 0; tried < 5 && !isPrompt; tried++) {
    const { lines, ms } = await runProgram(start + ends, script, join(folder(), "ids"));
    const { ms: nothing } = await runProgram(`${start} console.log(Date.now());`);
    expect(lines).toEqual(["deadline answered process 0", "0"]);
    isPrompt = ms < 500 + 5 * nothing;
  }
  expect(isPrompt).toBe(true);
});

test("CMD-6 a program that exits in the middle takes its commands with it", async () => {
  const noted = join(folder(), "ids");
  const leaving = `
    import { existsSync, readFileSync } from "node:fs";
    node("family", more).evaluate(prompt).catch(() => {});
    const look = () => {
      if (!existsSync(more) || readFileSync(more, "utf8").trim().split("\\n").length < 2) return setTimeout(look, 20);
      console.log(Date.now());
      process.exit(0);
    };
    look();
  `;
  await runProgram(start + leaving, script, noted);
  expect(await gone(await idsIn(noted, 2))).toBe(true);
});

/** Sends itself a signal as soon as its command and that one's child are there. */
const signalled = `
  import { existsSync, readFileSync } from "node:fs";
  const [, , signal] = process.argv.slice(1);
  const controller = new AbortController();
  const ended = node("family", more).evaluate(prompt, { signal: controller.signal }).catch((error) => error.code);
  const look = () => {
    if (!existsSync(more) || readFileSync(more, "utf8").trim().split("\\n").length < 2) return setTimeout(look, 20);
    process.kill(process.pid, signal);
  };
  look();
`;

test.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])(
  "CMD-6 a program that %s ends takes its commands with it",
  async (signal) => {
    const noted = join(folder(), "ids");
    await expect(runProgram(start + signalled, script, noted, signal)).rejects.toMatchObject({ code: null, signal });
    expect(await gone(await idsIn(noted, 2))).toBe(true);
  },
);

test("CMD-6 a program that listens to a signal decides itself, each time", async () => {
  const noted = join(folder(), "ids");
  const deciding = `
    const alive = () => readFileSync(more, "utf8").trim().split("\\n").every((id) => process.kill(Number(id), 0));
    process.once("SIGINT", () => {
      process.once("SIGINT", () => {
        console.log("second", alive());
        controller.abort();
        ended.then((how) => console.log(how)).then(async () => {
          // What is left of the group ends behind.
          while (process.listenerCount("SIGINT") > 0) await new Promise((resolve) => setTimeout(resolve, 20));
          console.log(Date.now());
        });
      });
      console.log("first", alive());
      setTimeout(() => process.kill(process.pid, "SIGINT"), 20);
    });
  `;
  const { lines } = await runProgram(start + signalled + deciding, script, noted, "SIGINT");
  expect(lines).toEqual(["first true", "second true", "aborted"]);
});

test("CMD-6 what has left the group is not waited for, and keeps no descriptor of ours open", async () => {
  const noted = join(folder(), "ids");
  const escaping = `
    import { readdirSync } from "node:fs";
    await commandLine({ command: "cat" }).evaluate(prompt);
    const descriptors = () => readdirSync("/dev/fd").length;
    const before = descriptors();
    console.log((await node("escape", more).evaluate(prompt)).output, descriptors() - before);
    console.log(Date.now());
  `;
  onTestFinished(async () => (await idsIn(noted, 1)).forEach((id) => process.kill(id, "SIGKILL")));
  const { lines } = await runProgram(start + escaping, script, noted);
  expect(lines).toEqual(["Gone. 0"]);
});
