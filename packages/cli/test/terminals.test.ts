// Every command in a pseudo-terminal and in a pipe: the same exit code, and the same result.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stripVTControlCharacters } from "node:util";
import type { RunJson } from "@proviso/cli";
import { describe, expect, inject, test, vi } from "vitest";
import { inProcess, processes, project, recorded, start } from "./support.ts";

const spam = join(processes, "spam.eval.ts");
const prompts = join(processes, "prompts.ts");

interface Try {
  /** A journal of three runs is there; else a project with a config. */
  readonly on: "project" | "journal";
  readonly args: readonly string[];
  readonly code: number;
  readonly says: string;
}

const tries: Readonly<Record<string, Try>> = {
  "run, done": { on: "project", args: ["run", "hello.prompt.md", "--param", "name=Ada"], code: 0, says: "Hello, Ada." },
  "run, failed": { on: "project", args: ["run", "refused.md"], code: 1, says: "That is refused.\\u001b[2J" },
  "run, wrong usage": { on: "project", args: ["run", "hello.prompt.md"], code: 2, says: "name: is missing" },
  "run, one document": { on: "project", args: ["run", "refused.md", "--json"], code: 1, says: '"error"' },
  "runs list": { on: "journal", args: ["runs", "list"], code: 0, says: "second" },
  "runs show, done": { on: "journal", args: ["runs", "show", "first"], code: 0, says: "undone" },
  "runs show, no such run": {
    on: "journal",
    args: ["runs", "show", "nobody"],
    code: 1,
    says: 'There is no run "nobody"',
  },
  "runs diff, the same": { on: "journal", args: ["runs", "diff", "first", "again"], code: 0, says: "The same" },
  "runs diff, parted": { on: "journal", args: ["runs", "diff", "first", "second"], code: 1, says: "They part at step" },
  "runs, wrong usage": { on: "journal", args: ["runs", "list", "--limit", "0"], code: 2, says: "from 1 to 500" },
  "eval, passed": { on: "project", args: ["eval", spam, "--filter", "good"], code: 0, says: "passed" },
  "eval, failed": { on: "project", args: ["eval", spam, "--filter", "bad"], code: 1, says: "failed: " },
  "eval, the same fault": { on: "project", args: ["eval", spam, "--filter", "broken"], code: 2, says: "ended early" },
  "overrides list": { on: "project", args: ["overrides", "list", prompts], code: 0, says: "cli/greeting: missing" },
  "overrides check, missing": { on: "project", args: ["overrides", "check", prompts], code: 1, says: "missing" },
  "overrides, wrong usage": { on: "project", args: ["overrides", "chekc", prompts], code: 2, says: "check" },
  "view, no journal": { on: "journal", args: ["view", "nowhere.db"], code: 2, says: "There is no journal at" },
};

/** Two processes each: some of each exit code and of most commands, and all with `pnpm test:exhaustive`. */
const taken = [
  "run, done",
  "run, wrong usage",
  "runs show, done",
  "runs diff, parted",
  "eval, failed",
  "view, no journal",
];
const isTaken = ([name]: readonly [string, Try]): boolean => inject("exhaustive") || taken.includes(name);

describe("each command", () => {
  test.each(Object.entries(tries).filter(isTaken))(
    "CLI-1 CLI-2 CLI-3 %s: in a terminal as in a pipe",
    async (_, { on, args, code, says }) => {
      const folder = on === "project" ? await project() : (await recorded()).folder;
      await writeFile(join(folder, "refused.md"), "Please refuse.\n");
      const [pipe, terminal] = await Promise.all([
        start(folder, args).ended,
        start(folder, args, { inTerminal: true }).ended,
      ]);
      expect({ pipe: pipe.code, terminal: terminal.code }).toEqual({ pipe: code, terminal: code });
      const inPipe = `${pipe.stdout}${pipe.stderr}`;
      expect(inPipe).toContain(says);
      expect(stripVTControlCharacters(terminal.stdout)).toContain(says);
      // A pipe gets no escape sequence, and a reader of stdout gets results alone.
      expect(inPipe).not.toContain("\u001b");
      if (code === 2 && args[0] !== "eval") expect(pipe.stdout).toBe("");
      if (args.includes("--json")) expect(() => JSON.parse(pipe.stdout)).not.toThrow();
    },
    60_000,
  );
});

/** How many attempts of an eval are under way, by its file. */
function attemptsBegun(file: string): number {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    return database.prepare("SELECT * FROM eval_begun").all().length;
  } finally {
    database.close();
  }
}

test("CLI-1 CLI-6 an interrupt exits 130 in a terminal and in a pipe: run, eval, view", async () => {
  const folder = await project();
  const journal = (await recorded()).folder;
  for (const inTerminal of [false, true]) {
    for (const [where, args, begun] of [
      [folder, ["run", "slow.md", "--stream"], "This much"],
      [folder, ["eval", spam, "--filter", "slow", "--store", `${inTerminal}.sqlite`], undefined],
      [journal, ["view"], "#t="],
    ] as const) {
      const running = start(where, args, { inTerminal });
      if (begun === undefined)
        await vi.waitFor(() => expect(attemptsBegun(join(where, `${inTerminal}.sqlite`))).toBeGreaterThan(0), {
          timeout: 300_000,
        });
      else await running.wrote(begun);
      running.interrupt();
      expect({ args, inTerminal, code: (await running.ended).code }).toEqual({ args, inTerminal, code: 130 });
    }
  }
}, 300_000);

test("CLI-7 CLI-1 runs replay and chat: in a terminal as in a pipe", async () => {
  const folder = await project();
  const { runId } = JSON.parse(
    (await inProcess(folder, ["run", "hello.prompt.md", "--param", "name=Ada", "--json"])).stdout,
  ) as RunJson;
  const replay = ["runs", "replay", runId, "hello.prompt.md"];
  for (const inTerminal of [false, true]) {
    expect(await start(folder, replay, { inTerminal }).ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("The same for all"),
    });
    const chat = start(folder, ["chat", "--no-runs"], { inTerminal });
    if (inTerminal) await chat.wrote("> ");
    chat.type(inTerminal ? "hello\r" : "hello\n");
    await chat.wrote("You said: hello");
    if (inTerminal) chat.type("\u0004");
    else chat.endInput();
    expect((await chat.ended).code).toBe(0);
  }
  await writeFile(join(folder, "hello.prompt.md"), "Good morning, {{name}}.\n");
  for (const inTerminal of [false, true]) {
    expect((await start(folder, replay, { inTerminal }).ended).code).toBe(1);
  }
}, 300_000);

test("CLI-1 the help of each command has one example", async () => {
  const folder = await project();
  for (const name of ["run", "chat", "runs", "eval", "overrides", "view"]) {
    const { code, stdout, stderr } = await inProcess(folder, [name, "--help"]);
    expect({ name, code, stderr }).toEqual({ name, code: 0, stderr: "" });
    expect(stdout.match(/^Examples?: proviso /gm), name).toHaveLength(1);
    expect(stdout).toContain("Exit codes:");
  }
});
