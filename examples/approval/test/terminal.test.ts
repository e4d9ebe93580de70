import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

const program = new URL("../main.ts", import.meta.url).pathname;
const command = [process.execPath, ...fromSources, program];

/** Runs a command with a terminal of its own; what is written to its input is typed. */
const terminals: readonly (readonly [probe: readonly string[], args: readonly string[]])[] = [
  [
    ["python3", "-c", "import pty"],
    ["python3", "-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))", ...command],
  ],
  [
    ["script", "--version"],
    ["script", "-qefc", command.map((part) => `'${part}'`).join(" "), "/dev/null"],
  ],
];
const terminal = terminals.find(([[name = "", ...args]]) => spawnSync(name, args).status === 0)?.[1];

interface Run {
  readonly code: unknown;
  readonly output: string;
}

/** Types each answer once what it answers was shown. */
async function typed(
  args: readonly string[],
  answers: readonly (readonly [shown: string, answer: string])[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Run> {
  const [name = "", ...rest] = args;
  const child = spawn(name, rest, { env: { ...process.env, TERM: "dumb", NO_COLOR: "1", ...environment } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  let seen = 0;
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "close");
  for (const [shown, answer] of answers) {
    await expect.poll(() => output.indexOf(shown, seen), { timeout: 120_000 }).toBeGreaterThanOrEqual(0);
    seen = output.indexOf(shown, seen) + shown.length;
    child.stdin.write(answer);
  }
  const [code] = (await ended) as [unknown];
  return { code, output };
}

const question = 'deploy {"version":"1.4","to":"production"}? yes, no or edit: ';

describe.skipIf(terminal === undefined)("requireApproval in a terminal (needs python3 or script)", () => {
  const run = (...given: Parameters<typeof typed> extends [unknown, ...infer Rest] ? Rest : never) =>
    typed(terminal ?? [], ...given);

  test("KIT-8 a person approves", async () => {
    const { code, output } = await run([[question, "yes\r"]]);
    expect({ code, output }).toMatchObject({
      code: 0,
      output: expect.stringContaining("Deployed: 1.4 to production."),
    });
  });

  test("KIT-8 a person denies, and the model reads why", async () => {
    const { code, output } = await run([
      [question, "perhaps\r"],
      [question, "no\r"],
      ["Why not? ", "It is Friday\r"],
    ]);
    expect(code).toBe(0);
    expect(output).toMatch(/The model was told: .*deploy was not approved: It is Friday\./);
    expect(output).toContain("Deployed: nothing.");
  });

  test("KIT-8 a person edits the arguments", async () => {
    const { code, output } = await run([
      [question, "edit\r"],
      ["Arguments as JSON: ", "{staging\r"],
      [question, "edit\r"],
      ["Arguments as JSON: ", '{"version":"1.4","to":"staging"}\r'],
    ]);
    expect(code).toBe(0);
    expect(output).toContain("That is no JSON");
    expect(output).toContain("Deployed: 1.4 to staging.");
  });

  test("KIT-8 Ctrl-C at the question ends the evaluation, and nothing is deployed", async () => {
    const { code, output } = await run([[question, "\u0003"]]);
    expect(code).toBe(130);
    expect(output).toContain("Stopped: aborted.");
    expect(output).toContain("Deployed: nothing.");
  });

  test("KIT-8 the question goes away with the deadline", async () => {
    const { code, output } = await run([[question, ""]], { DEADLINE_MS: "2500" });
    expect(code).toBe(1);
    expect(output).toContain("Stopped: deadline.");
    expect(output).toContain("Deployed: nothing.");
  });
});

test("KIT-8 without a terminal no person can approve: the call is denied", async () => {
  const { code, output } = await typed(command, []);
  expect(code).toBe(0);
  expect(output).toContain("deploy was not approved: nobody is at the terminal.");
  expect(output).toContain("Deployed: nothing.");
});
