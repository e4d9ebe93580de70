// A process is killed at random moments, again and again, and started again each time; afterwards every run that it had
// begun is held against what it should have done.
import type { Message } from "@proviso/core";
import type { Journal, RunDescription } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { callsOfRun, killsAnswer, killsPrompt, type KillPlace } from "./prompt.ts";

/** What a campaign takes. */
export interface KillsOptions {
  /** An empty folder. */
  readonly folder: string;
  readonly place: KillPlace;
  /** How often the process is killed. */
  readonly kills: number;
  /** Picks the moments. */
  readonly random: () => number;
  /** Node's arguments before the program. */
  readonly nodeArguments: readonly string[];
  /** Called with each kill. */
  readonly progress?: ((kill: number) => void) | undefined;
}

/** What came of it. All but the first three have to be 0. */
export interface KillsReport {
  readonly kills: number;
  readonly runs: number;
  /** Handlers that had begun, were undone by a kill, and ran again. */
  readonly ranAgain: number;
  /** Steps that were kept before a kill, and not after it. */
  readonly lost: number;
  /** Calls that were done twice, or begun again after they were kept. */
  readonly doubled: number;
  /** Calls that were done by no one. */
  readonly missing: number;
  /** Calls that the model read as failed. */
  readonly failed: number;
  /** Runs that did not end executed, whose history is not whole, or that cannot be replayed. */
  readonly invalid: number;
  /** What the counts above are about, in words. */
  readonly faults: readonly string[];
}

const program = join(import.meta.dirname, "..", "processes", "kills-runner.ts");

/** When a process is killed. */
interface Moment {
  /** Bytes of lines that it writes before; a call and its request are some 25. */
  readonly bytes: number;
  /** Milliseconds after that. */
  readonly ms: number;
}

/** Every second kill comes at any time from the very beginning on, the others while calls are made. */
function momentFrom(random: () => number, kill: number): Moment {
  return kill % 2 === 0 ? { bytes: 0, ms: random() * 90 } : { bytes: random() * 500, ms: random() * 6 };
}

export async function killAgainAndAgain(options: KillsOptions): Promise<KillsReport> {
  const { folder, kills, random, progress } = options;
  mkdirSync(join(folder, "files"), { recursive: true });
  const lines = join(folder, "lines");
  writeFileSync(lines, "");
  const journal = sqliteJournal(join(folder, "runs.db"));
  const seen = new Observed();
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const wasKilled = await runProcess(options, seen.open, Number.MAX_SAFE_INTEGER, momentFrom(random, kill));
      seen.read(readFileSync(lines, "utf8"));
      await seen.killed(journal);
      if (!wasKilled) throw new Error("The process ended by itself.");
      progress?.(kill);
    }
    const last = seen.open;
    await runProcess(options, last, last, undefined);
    seen.read(readFileSync(lines, "utf8"));
    return await reportOf(options, journal, seen, last + 1);
  } finally {
    await journal.close();
  }
}

/** Returns whether it was killed. undefined: it is not. */
async function runProcess(
  { folder, place, nodeArguments }: KillsOptions,
  first: number,
  last: number,
  moment: Moment | undefined,
): Promise<boolean> {
  const child = spawn(process.execPath, [...nodeArguments, program, folder, place, `${first}`, `${last}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "close") as Promise<[number | null, string | null]>;
  const end = (): void => void child.kill("SIGKILL");
  process.once("exit", end);
  try {
    await Promise.race([once(child.stdout, "data"), ended]);
    if (moment !== undefined) {
      await Promise.race([passed(join(folder, "lines"), moment), ended]);
      child.kill("SIGKILL");
    }
    const [code, signal] = await ended;
    if (signal === "SIGKILL") return true;
    if (code !== 0) throw new Error(`The process ended with ${code ?? signal}.`);
    return false;
  } finally {
    process.off("exit", end);
  }
}

async function passed(lines: string, { bytes, ms }: Moment): Promise<void> {
  const from = statSync(lines).size;
  // A process that hangs is killed, too.
  for (let waited = 0; statSync(lines).size < from + bytes && waited < 10_000; waited++) await sleep(1);
  await sleep(ms);
}

interface Kept {
  readonly steps: number;
  readonly answers: number;
  /** The numbers of the calls that count. */
  readonly calls: ReadonlySet<number>;
}

/** What the processes wrote into their lines, and what the record had at each kill. */
class Observed {
  /** The first run that has not ended. */
  open = 0;
  ranAgain = 0;
  failed = 0;
  readonly lost: string[] = [];
  readonly doubled: string[] = [];
  /** What the record of the open run had at the last kill. */
  #kept: Kept = nothingKept;
  readonly #begun = new Set<string>();
  #at = 0;

  read(text: string): void {
    // A kill may have cut the last line short, but a line is one write.
    for (const line of text.slice(this.#at).split("\n").slice(0, -1)) this.#take(line);
    this.#at = text.lastIndexOf("\n") + 1;
  }

  #take(line: string): void {
    const [what, run = "", ...rest] = line.split(" ");
    const n = Number(rest[0]);
    const isOpen = Number(run) === this.open;
    if (what === "asks" && isOpen && n < this.#kept.answers)
      this.lost.push(`answer ${n} of run ${run} was asked again`);
    if (what === "resumes" && isOpen && n !== this.#kept.steps)
      this.lost.push(`run ${run} had ${this.#kept.steps} steps, and went on with ${n}`);
    if (what === "begins") {
      const call = `${run} ${n}`;
      if (this.#begun.has(call)) this.ranAgain += 1;
      this.#begun.add(call);
      if (isOpen && this.#kept.calls.has(n)) this.doubled.push(`call ${n} of run ${run} was kept, and begun again`);
    }
    if (what === "done") {
      this.failed += Number(rest.at(-1));
      this.open = Number(run) + 1;
      this.#kept = nothingKept;
    }
  }

  /** Reads what was kept of the open run when the process was killed. */
  async killed(journal: Journal): Promise<void> {
    const described = await journal.describe(`r${this.open}`);
    this.#kept = described === undefined ? nothingKept : keptIn(described);
  }
}

const nothingKept: Kept = { steps: 0, answers: 0, calls: new Set() };

function keptIn({ timeline }: RunDescription): Kept {
  const counted = timeline.filter((step) => step.kind === "answer" || step.effect === "committed");
  const calls = counted.flatMap((step) => (step.kind === "call" ? [(step.input as { readonly n: number }).n] : []));
  return {
    steps: counted.length,
    answers: counted.filter(({ kind }) => kind === "answer").length,
    calls: new Set(calls),
  };
}

async function reportOf(
  { place, kills, folder }: KillsOptions,
  journal: Journal,
  seen: Observed,
  runs: number,
): Promise<KillsReport> {
  const done = place === "together" ? rowsIn(join(folder, "runs.db")) : filesIn(join(folder, "files"));
  const doubled = [...seen.doubled];
  const missing: string[] = [];
  const invalid: string[] = [];
  for (let run = 0; run < runs; run++) {
    for (let n = 0; n < callsOfRun; n++) {
      const times = done.get(`${run}-${n}`) ?? 0;
      if (times > 1) doubled.push(`call ${n} of run ${run} was done ${times} times`);
      if (times === 0) missing.push(`call ${n} of run ${run} was not done`);
    }
    const fault = await faultOf(journal, `r${run}`);
    if (fault !== undefined) invalid.push(`run ${run}: ${fault}`);
  }
  return {
    kills,
    runs,
    ranAgain: seen.ranAgain,
    lost: seen.lost.length,
    doubled: doubled.length,
    missing: missing.length,
    failed: seen.failed,
    invalid: invalid.length,
    faults: [...seen.lost, ...doubled, ...missing, ...invalid],
  };
}

function rowsIn(file: string): Map<string, number> {
  const database = new DatabaseSync(file);
  const rows = database.prepare("SELECT run, n, count(*) AS times FROM rows GROUP BY run, n").all();
  database.close();
  return new Map(rows.map(({ run, n, times }) => [`${String(run)}-${String(n)}`, Number(times)]));
}

function filesIn(folder: string): Map<string, number> {
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(".txt")) : [];
  return new Map(names.map((name) => [name.slice(0, -4), readFileSync(join(folder, name), "utf8").length]));
}

/** Why the run did not come out as it should; undefined: it did. */
async function faultOf(journal: Journal, id: string): Promise<string | undefined> {
  const described = await journal.describe(id);
  if (described?.state !== "executed") return `it is ${described?.state ?? "not there"}`;
  const steps = described.timeline.length;
  if (steps !== 2 * callsOfRun + 1) return `it has ${steps} steps`;
  const nothing = async (): Promise<never> => {
    throw new Error("A replay runs nothing.");
  };
  const adapter = modelAdapter({
    name: "counter",
    model: "counter-1",
    capabilities: { tools: true, nativeOutput: true },
    generate: nothing,
  });
  try {
    const prompt = killsPrompt(nothing);
    const { text, messages } = await adapter.evaluate(prompt, { run: journal.replay(id) });
    return text === killsAnswer(callsOfRun).message.text ? gapIn(messages) : `its answer is ${String(text)}`;
  } catch (error) {
    return `it cannot be replayed: ${String(error)}`;
  }
}

/** A call without its answer, or an answer without its call; undefined: there is none. */
function gapIn(messages: readonly Message[]): string | undefined {
  const open = new Set<string>();
  let calls = 0;
  for (const message of messages) {
    if (message.role === "tool") {
      if (!open.delete(message.callId)) return `the answer to ${message.callId} has no call`;
    } else if (open.size > 0) return `${[...open].join()} has no answer`;
    if (message.role !== "assistant") continue;
    for (const { id } of message.toolCalls) open.add(id);
    calls += message.toolCalls.length;
  }
  return calls === callsOfRun && open.size === 0 ? undefined : `it has ${calls} calls`;
}
