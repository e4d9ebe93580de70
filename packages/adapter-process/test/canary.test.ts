import { acpAgent, commandLine } from "@proviso/adapter-process";
import { canaryIn, canarySong, type Watched } from "@proviso/fault-matrix";
import { describe, expect, test } from "vitest";
import { acting } from "./acp/support.ts";
import "./support/command.ts";

const says = (code: string): readonly string[] => [
  "-e",
  `const song = ${JSON.stringify(canarySong)}; process.stdin.once("data", () => { process.stdin.destroy(); ${code} });`,
];
/** What it does once it was asked; an agent is asked by the first message, and its input stays open. */
const scenes = {
  "it answers": "console.log(song)",
  "it ends badly": "console.error(song); console.log(song); process.exitCode = 3;",
  "it prints an error as JSON": "console.log(JSON.stringify({ error: { message: song } }))",
  "it prints JSON that is cut": `console.log('{"text": ' + JSON.stringify(song))`,
};
/** The key is in no request here: it is registered as another secret. */
const options = ({ secrets, logger }: Watched) => ({
  command: process.execPath,
  secrets: [...secrets, "sk-canary-0123456789abcdef"],
  logger,
  throttle: { maxAttempts: 1 },
});

const watchedBy = (watched: Watched) => {
  const { command: _, ...more } = options(watched);
  return more;
};

describe.each(Object.entries(scenes))("SEC-1 a command of which %s", (_, code) => {
  test.each([false, true])("SEC-1 shows no secret, streamed: %s", async (isStreamed) => {
    const count = await canaryIn((watched) => commandLine({ ...options(watched), args: says(code) }), isStreamed);
    expect(count).toBeGreaterThan(0);
  });

  test.each([false, true])("SEC-1 shows none where it is no agent, streamed: %s", async (isStreamed) => {
    const count = await canaryIn((watched) => acpAgent({ ...options(watched), args: says(code) }), isStreamed);
    expect(count).toBeGreaterThan(0);
  });
});

test("SEC-1 a command that cannot be started does not show its arguments", async () => {
  const make = (watched: Watched) =>
    commandLine({ ...options(watched), command: "proviso-no-such-command", args: [canarySong] });
  for (const isStreamed of [false, true]) await canaryIn(make, isStreamed);
});

test.each([false, true])("SEC-1 an agent that answers shows none, streamed: %s", async (isStreamed) => {
  const count = await canaryIn((watched) => acting("echo", "", watchedBy(watched)), isStreamed);
  expect(count).toBeGreaterThan(0);
});
