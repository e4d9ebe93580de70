import { acpAgent } from "@proviso/adapter-process";
import { ProcessError, ProviderError, trackBudget } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureOf, folder, gone, idsIn } from "../support/command.ts";
import { acting, hello, nothingIsLeft } from "./support.ts";

nothingIsLeft();

test("CMD-29 an agent that does not exist is a ProcessError that says what to do", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const error = await failureOf(acpAgent({ command: "proviso-no-such-agent" }).evaluate(hello, { session }));
  expect(error).toBeInstanceOf(ProcessError);
  expect(error).toMatchObject({ code: "process", phase: "request", exitCode: null, signal: null, stderr: "" });
  expect(error.message).toContain('"proviso-no-such-agent" was not found');
  expect(events.map(({ type }) => type)).toEqual(["prompt.rendered", "provider.requested", "prompt.failed"]);
});

test.each([
  ["is not there", acpAgent({ command: "/no/such/agent" })],
  ["asks for a login", acting("auth")],
  ["exits before it has said anything", acting("early-exit", "4")],
])("LIM-8 CMD-29 an agent that %s costs nothing", async (_, agent) => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const { usage } = await failureOf(agent.evaluate(hello, { budget }));
  expect(usage).toMatchObject({ totalTokens: 0, estimated: false });
  expect(budget.consumed.totalTokens).toBe(0);
});

test("LIM-2 CMD-31 an agent is not started when a listener of provider.requested has aborted", async () => {
  const noted = join(folder(), "notes");
  const controller = new AbortController();
  const session = createSession();
  session.on("provider.requested", () => controller.abort());
  const error = await failureOf(acting("cancellable", noted).evaluate(hello, { session, signal: controller.signal }));
  expect(error).toMatchObject({ code: "aborted", usage: { totalTokens: 0 } });
  expect(existsSync(noted)).toBe(false);
});

test("CMD-29 a folder that does not exist, and a file that is no program, are reported as such", async () => {
  const lost = await failureOf(acting("echo", "", { cwd: "/no/such/folder" }).evaluate(hello));
  expect(lost.message).toContain('its folder "/no/such/folder" does not exist');
  const file = join(folder(), "text");
  writeFileSync(file, "no program");
  chmodSync(file, 0o600);
  expect((await failureOf(acpAgent({ command: file }).evaluate(hello))).message).toContain("may not be run");
});

test.each([
  ["long-refusal", / refused: x{200}…$/],
  ["long-reason", /with an unknown reason: "x{199}…\.$/],
])("CMD-29 of a long text of the agent the error shows the first 200 characters (%s)", async (what, shown) => {
  const { message } = await failureOf(acting(what).evaluate(hello));
  expect(message.length).toBeLessThan(1_000);
  expect(message).toMatch(shown);
});

test.each(["exit", "early-exit"])(
  "CMD-29 the error of an agent that goes in the middle (%s) has code and standard error",
  async (what) => {
    const error = await failureOf(acting(what, "4").evaluate(hello));
    expect(error).toMatchObject({ code: "process", exitCode: 4, signal: null });
    expect(error.message).toMatch(
      /exited with code 4 before it had answered\. It printed: (?:Something is missing|No licence)\./,
    );
  },
);

test("CMD-29 an agent that is killed is a ProcessError with the signal", async () => {
  expect(await failureOf(acting("selfkill").evaluate(hello))).toMatchObject({ exitCode: null, signal: "SIGKILL" });
});

test("CMD-29 an agent that is another program, or closes its output, is a ProcessError", async () => {
  const other = await failureOf(acpAgent({ command: process.execPath, args: ["-e", ""] }).evaluate(hello));
  expect(other).toMatchObject({ code: "process", exitCode: 0 });
  const mute = await failureOf(acting("mute").evaluate(hello));
  expect(mute.message).toContain("closed its standard output before it had answered");
});

test.each(["Hello.", '{"jsonrpc":"2.0"}', "[]", '"text"', '{"jsonrpc":"2.0","id":1'])(
  "CMD-29 a line that is no message ends the turn: %s",
  async (line) => {
    const error = await failureOf(acting("garbage", line).evaluate(hello));
    expect(error).toMatchObject({ code: "process" });
    expect(error.message).toContain(`printed a line that is no message of the protocol: ${JSON.stringify(line)}`);
  },
);

test("CMD-29 a greeting before the protocol begins is no message", async () => {
  expect((await failureOf(acting("banner").evaluate(hello))).message).toContain('"Welcome!"');
});

test("CMD-29 a flood is ended: a line without an end, and a text without one", async () => {
  const line = await failureOf(acting("flood").evaluate(hello));
  expect(line).toMatchObject({ code: "process" });
  expect(line.message).toContain("printed a line of more than 16777216 bytes");
  const text = await failureOf(acting("chatter").evaluate(hello));
  expect(text).toMatchObject({ code: "process" });
  expect(text.message).toContain("said more than 16777216 characters");
});

test("CMD-29 of standard error the last 64 KiB are kept", async () => {
  const { stderr } = (await failureOf(acting("complain").evaluate(hello))) as ProcessError;
  expect(stderr).toHaveLength(64 * 1024);
  expect(stderr.endsWith("eend")).toBe(true);
});

test.each(["auth", "auth-http"])(
  "CMD-30 an agent that asks for a login (%s) is api_key, and says what to do",
  async (what) => {
    const error = await failureOf(acting(what).evaluate(hello));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ code: "provider", reason: "api_key" });
    expect(error.message).toContain("Log in with its own command first");
  },
);

test.each([
  ["429|Rate limit exceeded.", { code: "throttled", kind: "rate_limit", attempts: 1 }],
  ["503|Overloaded.", { code: "throttled", kind: "server_error", attempts: 1 }],
  ["400|Malformed.", { code: "provider", reason: "bad_request", status: 400 }],
  ["404|No such model.", { code: "provider", reason: "not_found" }],
  ["413|Too long.", { code: "provider", reason: "context_length" }],
  ["408|Too late.", { code: "throttled", kind: "timeout", attempts: 1 }],
  ["-32602|Invalid params.", { code: "provider", reason: "bad_request" }],
  ["-32603|Internal error.", { code: "provider", reason: "unknown" }],
  ["-32099|Something.", { code: "provider", reason: "unknown" }],
])("CMD-30 what it refuses with %s is reported by its kind, and not asked again", async (refusal, expected) => {
  const error = await failureOf(acting("refuse", refusal).evaluate(hello));
  expect(error).toMatchObject(expected);
  expect(error.message).toContain(refusal.split("|")[1]);
});

test("CMD-30 another version of the protocol, and answers without what they must have, are refused", async () => {
  const version = await failureOf(acting("initialize-version").evaluate(hello));
  expect(version).toMatchObject({ code: "provider", reason: "bad_request" });
  expect(version.message).toContain("speaks version 7 of the Agent Client Protocol");
  const session = await failureOf(acting("no-session").evaluate(hello));
  expect(session).toMatchObject({ code: "provider", reason: "invalid_response" });
  for (const answer of ["{}", "null", '"end_turn"', '{"stopReason":7}']) {
    const error = await failureOf(acting("answer", answer).evaluate(hello));
    expect(error, answer).toMatchObject({ code: "provider", reason: "invalid_response" });
  }
});

test("CMD-31 what an agent leaves behind is ended with it, though it holds the pipes", async () => {
  const noted = join(folder(), "ids");
  expect((await acting("leave", noted).evaluate(hello)).output).toBe("Gone.");
  expect(await gone(await idsIn(noted, 1), 100)).toBe(true);
});

test("CMD-8 what a variable with a secret's name holds is in no error", async () => {
  process.env["PROVISO_ACP_TOKEN"] = "Something is missing";
  try {
    const error = await failureOf(acting("exit", "3", { env: ["PROVISO_ACP_TOKEN"] }).evaluate(hello));
    expect((error as ProcessError).stderr).not.toContain("Something");
    expect(error.message).not.toContain("Something");
  } finally {
    delete process.env["PROVISO_ACP_TOKEN"];
  }
});
