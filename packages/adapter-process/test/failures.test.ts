import { acpAgent, commandLine } from "@proviso/adapter-process";
import { deadlineIn, type ProcessError, systemClock } from "@proviso/core";
import { fakeClock } from "@proviso/runtime/testing";
import { join } from "node:path";
import { inspect } from "node:util";
import { expect, inject, test } from "vitest";
import { doing, failureOf, folder, gone, hello, idsIn, read, saying } from "./support/command.ts";

test("CMD-9 another exit code than 0 is a ProcessError with code and standard error", async () => {
  const error = await failureOf(doing("exit", "3").evaluate(hello));
  expect(error).toMatchObject({ code: "process", exitCode: 3, signal: null, stderr: "Something is missing.\n" });
  expect(error.message).toContain("exited with code 3. It printed: Something is missing.");
});

test("CMD-9 a command that was killed is a ProcessError with the signal", async () => {
  expect(await failureOf(doing("selfkill").evaluate(hello))).toMatchObject({ exitCode: null, signal: "SIGKILL" });
});

test("CMD-9 a command that closes its standard input before a long prompt was read has not answered it", async () => {
  const error = await failureOf(doing("deaf").evaluate(saying("x".repeat(4_000_000))));
  expect(error).toMatchObject({ code: "process", exitCode: 0, providerPayload: { stdout: "Whatever." } });
  expect(error.message).toContain("closed its standard input before it had read the prompt: let it read to the end");
});

test("CMD-9 whether it read a short prompt is not asked: true and false to the system's mood it could be", async () => {
  const quick = commandLine({ command: "/bin/sh", args: ["-c", "printf Whatever."] });
  for (let i = 0; i < (inject("exhaustive") ? 50 : 12); i++)
    expect((await quick.evaluate(saying("x".repeat(4_000)))).output).toBe("Whatever.");
});

test("CMD-7 a flood is ended, with an error that says so", async () => {
  const error = await failureOf(doing("flood").evaluate(hello));
  expect(error).toMatchObject({ code: "process", signal: "SIGTERM" });
  expect(error.message).toContain("printed more than 16777216 bytes");
});

test("CMD-7 of standard error the last 64 KiB are kept", async () => {
  const error = await failureOf(doing("complain").evaluate(hello));
  const { stderr } = error as ProcessError;
  expect(stderr).toHaveLength(64 * 1024);
  expect(stderr.endsWith("eend")).toBe(true);
});

test("CMD-7 what is kept of standard error begins with a whole character", async () => {
  const { stderr } = (await failureOf(doing("wail").evaluate(hello))) as ProcessError;
  expect(stderr).toBe(`${"é".repeat(32_767)}!`);
});

test("CMD-4 bytes that are no text, and half an answer, are an invalid response", async () => {
  const garbage = await failureOf(doing("bytes", "ff00fe").evaluate(hello));
  expect(garbage).toMatchObject({ code: "provider", reason: "invalid_response" });
  for (const half of ['{"text":"hel', '{"text":5}', '{"text":"","toolCalls":{}}', '{"toolCalls":[{"id":"a"}]}']) {
    const error = await failureOf(doing("print", half).evaluate(hello));
    expect(error, half).toMatchObject({ code: "provider", reason: "invalid_response" });
  }
  expect(await failureOf(doing("print", "").evaluate(hello))).toMatchObject({ reason: "invalid_response" });
});

test("CMD-4 the first 4 KiB of what cannot be read are kept", async () => {
  for (const [length, kept] of [
    [4_096, 4_096],
    [4_097, 4_096],
    [8_192, 4_096],
  ] as const) {
    const printed = `{"text":5,"model":"${"x".repeat(length - 21)}"}`;
    const { providerPayload } = await failureOf(doing("print", printed).evaluate(hello));
    expect(printed).toHaveLength(length);
    expect(providerPayload).toMatchObject({ stdout: printed.slice(0, kept) });
  }
});

/** What a command comes to whose timeout passes when it has noted its id: it ignores SIGTERM by then. */
async function outOfTime(what: string, more: string, noted: string) {
  const clock = fakeClock();
  const asked = failureOf(doing(what, more, { clock, timeoutMs: 60_000 }).evaluate(hello));
  await idsIn(noted, 1);
  await clock.advance(60_000);
  return asked;
}

test("CMD-6 a command that hangs is left at its timeout, though it ignores SIGTERM", async () => {
  const noted = join(folder(), "id");
  const error = await outOfTime("stubborn", noted, noted);
  expect(error).toMatchObject({ code: "throttled", kind: "timeout", attempts: 1 });
  expect(error.providerPayload).toMatchObject({ signal: "SIGKILL" });
});

test("CMD-6 what ignores SIGTERM has 200 ms more", async () => {
  // On a busy machine it may not come to note how long it lives, or we not to end it in time: that is not so every time.
  const lived: number[] = [];
  for (let tried = 0; tried < 10 && !lived.some((ms) => ms > 50 && ms < 1_500); tried++) {
    const noted = join(folder(), "lived");
    await outOfTime("lasting", noted, `${noted}.id`);
    lived.push(Math.max(...read(noted).split("\n").map(Number)));
  }
  expect(Math.max(...lived)).toBeGreaterThan(50);
  // A tenfold grace fails this, a busy machine does not.
  expect(Math.min(...lived)).toBeLessThan(1_500);
});

test("CMD-6 the timeout runs on the clock that is given", async () => {
  const clock = fakeClock();
  const asked = failureOf(doing("hang", "", { clock, timeoutMs: 60_000 }).evaluate(hello));
  while (!clock.sleeps.includes(60_000)) await clock.advance(0);
  await clock.advance(59_999);
  expect(clock.pending).toBe(1);
  await clock.advance(1);
  expect(await asked).toMatchObject({ code: "throttled", kind: "timeout" });
  expect(clock.pending).toBe(0);
});

test("CMD-6 at a deadline or an abort the whole group ends, with a grandchild that ignores SIGTERM", async () => {
  const noted = join(folder(), "ids");
  const clock = fakeClock();
  const deadline = deadlineIn(60_000, clock);
  const late = failureOf(doing("family", noted, { clock }).evaluate(hello, { deadline }));
  const ids = await idsIn(noted, 2);
  await clock.advance(60_000);
  expect(await late).toMatchObject({ code: "deadline" });
  expect(await gone(ids)).toBe(true);

  const again = join(folder(), "ids");
  const controller = new AbortController();
  const aborted = failureOf(doing("family", again).evaluate(hello, { signal: controller.signal }));
  const others = await idsIn(again, 2);
  controller.abort("enough");
  const settled = Promise.race([aborted, systemClock.sleep(100)]);
  expect(await settled).toMatchObject({ code: "aborted", cause: "enough" });
  expect(await gone(others)).toBe(true);
});

test("CMD-6 what a command leaves behind is ended with it, though it holds the pipes", async () => {
  const noted = join(folder(), "ids");
  const { output } = await doing("leave", noted).evaluate(hello);
  expect(output).toBe("Gone.");
  expect(await gone(await idsIn(noted, 1))).toBe(true);
});

test("CMD-6 the answer of a command counts, though what it leaves behind goes on to print", async () => {
  const noted = join(folder(), "ids");
  // The timeout never comes.
  const { output } = await doing("drip", noted, { clock: fakeClock() }).evaluate(hello);
  expect(output).toMatch(/^Gone\./);
  expect(await gone(await idsIn(noted, 1))).toBe(true);
});

test("CMD-8 what a variable with a secret's name holds is in no error", async () => {
  process.env["PROVISO_TEST_KEY"] = "Something is missing";
  try {
    const error = await failureOf(doing("exit", "3", { env: ["PROVISO_TEST_KEY"] }).evaluate(hello));
    expect((error as ProcessError).stderr).not.toContain("Something");
    expect(error.message).not.toContain("Something");
    expect(JSON.stringify(error.providerPayload)).not.toContain("Something");
  } finally {
    delete process.env["PROVISO_TEST_KEY"];
  }
});

test("CMD-8 a folder in PWD is no secret, nor what follows an option that only begins like one", async () => {
  const program = "process.stderr.write(process.argv.slice(1).join(' ')); process.exit(3)";
  const args = ["-e", program, "--", "--author=Nobody Special", "--token=tkn-0123456789", "--db-pwd", "pwd-0123456789"];
  const adapter = commandLine({ command: process.execPath, args, env: ["PWD"], throttle: { maxAttempts: 1 } });
  const error = (await failureOf(adapter.evaluate(hello))) as ProcessError;
  expect(error.stderr).toBe("--author=Nobody Special --token=[secret] --db-pwd [secret]");
});

test("CMD-8 the arguments of a command that cannot be started are in no cause", async () => {
  const args = ["positional-0123456789"];
  for (const made of [commandLine, acpAgent]) {
    const error = await failureOf(made({ command: "proviso-no-such-command", args }).evaluate(hello));
    expect(error.cause).toMatchObject({ code: "ENOENT" });
    expect(inspect(error, { depth: null })).not.toContain("positional");
  }
});
