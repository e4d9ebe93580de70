import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openChat } from "../chat.ts";
import { configFrom, gemini as geminiAdapter } from "../config.ts";
import { tally } from "../tasks.ts";
import { calls, refuses, says, silence, startGemini } from "./gemini.ts";
import { fromSources } from "../../../scripts/from-sources.ts";

vi.setConfig({ testTimeout: 300_000 });

const program = new URL("../main.ts", import.meta.url).pathname;
const command = [process.execPath, ...fromSources, program];

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-tasks-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Runs the program with these lines piped to it. */
async function piped(
  cwd: string,
  lines: readonly string[],
  args: readonly string[] = ["--simulate"],
  environment: Readonly<Record<string, string>> = {},
): Promise<Ended> {
  const [name = "", ...rest] = command;
  const child = spawn(name, [...rest, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...environment },
  });
  const ended = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].on("data", (chunk: Buffer) => (ended[stream] += chunk.toString()));
  }
  child.stdin.on("error", () => {}).end(lines.map((line) => `${line}\n`).join(""));
  const [code] = (await once(child, "close")) as [unknown];
  return { code, ...ended };
}

test("AGT-9 AGT-10 the README's two conversations are what the program prints, the second after a restart", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const shown = [...readme.matchAll(/```text\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  expect(shown).toHaveLength(2);
  const cwd = await temporaryFolder();
  for (const conversation of shown) {
    const lines = conversation.split("\n");
    const typed = lines.filter((line) => line.startsWith("> ")).map((line) => line.slice(2));
    const printed = lines.filter((line) => !line.startsWith("> ")).join("\n");
    expect(await piped(cwd, typed)).toEqual({ code: 0, stdout: printed, stderr: "" });
  }
});

test.each([
  ["no key", [], "", "GEMINI_API_KEY is not set."],
  ["an empty key", [], " ", "GEMINI_API_KEY is not set."],
  ["an unknown option", ["--simulat"], "k", "Unknown option '--simulat'"],
  ["a file of another kind", ["--simulate", "--file", program], "", "The file is no SQLite database"],
  ["a folder that is not there", ["--simulate", "--file", "no/where.db"], "", "cannot be opened"],
] as const)("AGT-4 AGT-9 %s is one clear line and exit code 1", async (_, args, key, line) => {
  const environment: Record<string, string> = key === "" ? {} : { GEMINI_API_KEY: key };
  const { code, stdout, stderr } = await piped(await temporaryFolder(), ["list"], args, environment);
  expect({ code, stdout, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, stdout: "", lines: 1 });
  expect(stderr).toContain(line);
});

test("AGT-4 AGT-5 AGT-6 AGT-7 the program with Gemini's wire: each failure has its text, the rest is logged", async () => {
  await using gemini = await startGemini(
    calls("add_task", { description: "buy milk" }),
    says([{ text: "I added \u001B[31mmilk\u001B[0m." }]),
    refuses(429, "RESOURCE_EXHAUSTED", { "retry-after": "60" }),
    { status: 200, body: "<html>" },
    refuses(404, "NOT_FOUND"),
    says([{ text: "Goodbye." }]),
  );
  const environment = {
    GEMINI_API_KEY: "key-of-the-test-12345",
    GEMINI_MODEL: "gemini-x",
    GEMINI_BASE_URL: gemini.baseURL,
  };
  const { code, stdout, stderr } = await piped(
    await temporaryFolder(),
    ["add milk", "a", "b", "c", "bye"],
    [],
    environment,
  );
  expect(code).toBe(0);
  expect(stdout.split("\n")).toEqual([
    "Tasks are in tasks.db, gemini-x answers, a new conversation. Ctrl-D ends.",
    "I added milk.",
    "REFUSAL:RATE_LIMITED",
    "The model's answer could not be read. Please say it in other words.",
    "The model gives no answer now. Your tasks are saved; please try again.",
    "Goodbye.",
    "",
  ]);
  expect(stderr.match(/^chat\.\w+/gm)).toEqual(["chat.refused", "chat.error", "chat.fallback"]);
  expect(stderr).toContain('"retryAfterMs":60000');
  expect(stderr).not.toContain(environment.GEMINI_API_KEY);
  expect(gemini.requests[0]?.path).toBe("/models/gemini-x:generateContent");
});

test("AGT-9 of a program that is killed in a turn, tasks and session are those of the calls that were done", async () => {
  await using gemini = await startGemini(calls("add_task", { description: "buy milk" }), silence);
  const cwd = await temporaryFolder();
  const [name = "", ...rest] = command;
  const env = {
    PATH: process.env["PATH"],
    NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
    GEMINI_API_KEY: "key-of-the-test-12345",
    GEMINI_BASE_URL: gemini.baseURL,
  };
  const child = spawn(name, rest, { cwd, env });
  child.stdin.write("add milk\n");
  await expect.poll(() => gemini.requests.length, { timeout: 120_000 }).toBe(2);
  child.kill("SIGKILL");
  await once(child, "close");
  await using chat = await openChat(join(cwd, "tasks.db"), geminiAdapter(configFrom(env)));
  expect(chat.session.get(tally).added).toBe(1);
  const { stdout } = await piped(cwd, ["list"]);
  expect(stdout).toContain("[ ] 1. buy milk\n");
});

/** Runs a command with a terminal of its own; what is written to its input is typed. */
const terminals: readonly (readonly [
  probe: readonly string[],
  start: (args: readonly string[]) => readonly string[],
])[] = [
  [
    ["script", "--version"],
    (args) => ["script", "-qefc", [...command, ...args].map((part) => `'${part}'`).join(" "), "/dev/null"],
  ],
  [
    ["python3", "-c", "import pty"],
    (args) => {
      const pty = "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))";
      return ["python3", "-c", pty, ...command, ...args];
    },
  ],
];
const terminal = terminals.find(([[name = "", ...args]]) => spawnSync(name, args).status === 0)?.[1];

describe.skipIf(terminal === undefined)("in a terminal (needs script or python3)", () => {
  /** Types each text once what goes before it was shown, or holds. */
  async function typed(
    cwd: string,
    turns: readonly (readonly [shown: string | (() => boolean), text: string])[],
    args: readonly string[],
    environment = {},
  ) {
    const [name = "", ...rest] = terminal?.(args) ?? [];
    const child = spawn(name, rest, { cwd, env: { ...process.env, TERM: "dumb", NO_COLOR: "1", ...environment } });
    onTestFinished(() => void child.kill("SIGKILL"));
    let output = "";
    let seen = 0;
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const ended = once(child, "close");
    for (const [shown, text] of turns) {
      if (typeof shown === "string") {
        await expect.poll(() => output.indexOf(shown, seen), { timeout: 120_000 }).toBeGreaterThanOrEqual(0);
        seen = output.indexOf(shown, seen) + shown.length;
      } else await expect.poll(shown, { timeout: 120_000 }).toBe(true);
      child.stdin.write(text);
    }
    const [code] = (await ended) as [unknown];
    return { code, output };
  }

  test("AGT-10 a person types, ends with Ctrl-D, and goes on later", async () => {
    const cwd = await temporaryFolder();
    const first = await typed(
      cwd,
      [
        ["> ", "add buy milk\r"],
        ["[ ] 1. buy milk", ""],
        ["> ", "done 1\r"],
        ["[x] 1. buy milk", ""],
        ["> ", "\u0004"],
      ],
      ["--simulate"],
    );
    expect(first.code).toBe(0);
    const second = await typed(
      cwd,
      [
        ["8 messages remembered", ""],
        ["> ", "list\r"],
        ["[x] 1. buy milk", ""],
        ["> ", "\u0003"],
      ],
      ["--simulate"],
    );
    expect(second.code).toBe(0);
  });

  test("AGT-10 Ctrl-D in a turn ends the program after the answer", async () => {
    const { code, output } = await typed(await temporaryFolder(), [["> ", "add milk\r\u0004"]], ["--simulate"]);
    expect(output).toContain("[ ] 1. milk");
    expect(output).not.toContain("Error");
    expect(code).toBe(0);
  });

  test("AGT-10 Ctrl-C stops a turn, and the chat goes on", async () => {
    await using gemini = await startGemini(silence, says([{ text: "Here I am." }]));
    const { code, output } = await typed(
      await temporaryFolder(),
      [
        ["> ", "list\r"],
        [() => gemini.requests.length === 1, "\u0003"],
        ["Stopped.", ""],
        ["> ", "hello\r"],
        ["Here I am.", ""],
        ["> ", "\u0004"],
      ],
      [],
      { GEMINI_API_KEY: "key-of-the-test-12345", GEMINI_BASE_URL: gemini.baseURL },
    );
    expect({ code, output }).toMatchObject({ code: 0, output: expect.stringContaining("Here I am.") });
  });
});
