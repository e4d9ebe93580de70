// What has to hold of an interrupted run once it has an answer.
import { allow, Filesystem, isEvaluationFailure, provide, RunError, type PromptResponse } from "@proviso/core";
import { createJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { memoryFilesystem } from "@proviso/runtime";
import { listed, type Checked } from "./checked.ts";
import type { Filed, Interrupted } from "./interrupted.ts";
import { callAt, interruptedPrompt, newDeeds, notes, type Deeds } from "./interrupted-prompt.ts";
import { kinds, type Kind } from "./interrupted-shape.ts";

/** The run that is checked, and what it came to. */
interface End {
  readonly response: PromptResponse<string>;
  readonly files: Filed;
  /** The attempts after which something was decided. */
  readonly decided: readonly number[];
}

/** The keys of the calls whose end is kept. */
export async function keptCalls(journal: Journal): Promise<ReadonlySet<string>> {
  const described = await journal.describe("r");
  if (described === undefined) return new Set();
  const entries = await listed(journal.entries("r"));
  const own = entries[0]?.evaluationId;
  const isOf = (entry: JournalEntry, turn: number, callId: string): boolean =>
    entry.evaluationId === own && entry.kind === "started" && entry.turn === turn && entry.callId === callId;
  const keys = new Set<string>();
  for (const step of described.timeline) {
    if (step.kind !== "call" || (step.effect !== "committed" && step.effect !== "undone")) continue;
    const started = entries.find((entry) => isOf(entry, step.turn, step.callId));
    if (started?.kind === "started") keys.add(started.idempotencyKey);
  }
  return keys;
}

/** The handlers that began in an attempt although the end of their call had been kept before. */
export function ranAgain(kept: ReadonlySet<string>, { begun }: Deeds, attempt: number): readonly string[] {
  return Array.from(begun).flatMap(([key, times]) =>
    kept.has(key) && times.some((each) => each.attempt === attempt) ? [`${times[0]?.kind} ${times[0]?.at}`] : [],
  );
}

export async function checkEnd(checked: Checked, of: Interrupted, end: End): Promise<void> {
  const journal = createJournal(of.store);
  beganOnce(checked, of.deeds, end.decided);
  for (const wrong of new Set(of.deeds.wrong)) checked.not("LOOP-1", wrong);
  await checkEffects(checked, of, journal, end);
  await checkReplays(checked, of, journal, "r", end.response);
  const again = of.newProcess();
  const came = await again.evaluated(again.journal.run("r", { takeOver: "alive" }), { maxTurns: 1 });
  checked.same("RSM-1 asked again", end.response.text, textIn(came));
  // What only reads may still begin in a process that the run was taken from.
  const ran = Array.from(of.deeds.begun.values()).some((times) =>
    times.some(({ attempt }) => attempt === again.number),
  );
  if (ran) checked.not("RSM-1 asked again:", "a handler ran");
  await checkFork(checked, of, journal);
}

const textIn = (came: unknown): string => (came as { readonly text?: string }).text ?? String(came);

const countOf = ({ begun }: Deeds): number => Array.from(begun.values()).reduce((sum, { length }) => sum + length, 0);

/** What may not be done twice is begun again only where someone was asked; nothing begins twice in an attempt. */
function beganOnce(checked: Checked, { begun, asked }: Deeds, decided: readonly number[]): void {
  for (const [key, times] of begun) {
    const { kind, at } = times[0] as (typeof times)[number];
    if (at.split("/").length > 2) continue;
    const { readOnly, idempotent, transactional }: Kind = kinds[kind];
    for (const [place, { attempt }] of times.slice(1).entries()) {
      const last = times[place]?.attempt ?? 0;
      if (attempt === last) checked.not("EFF-3 begun twice in an attempt:", `${kind} ${at}`);
      if (readOnly === true || idempotent === true || transactional === true) continue;
      const wasAsked = asked.get(key)?.some((each) => each >= last && each <= attempt) === true;
      const wasDecided = decided.some((each) => each >= last && each < attempt);
      if (!wasAsked && !wasDecided) checked.not("EFF-3 begun again, and nobody was asked:", `${kind} ${at}`);
    }
  }
}

/** What the model read that no limit, and no wait for a decision, may leave behind. */
const leftBehind = /^(?:Stopped:|The deadline |The budget |The evaluation was aborted|The run )/;

/** Files and session are what the calls that succeeded left, and each call has an answer that is its own. */
async function checkEffects(checked: Checked, of: Interrupted, journal: Journal, end: End): Promise<void> {
  const { shape } = of;
  const answers = new Map<string, { readonly text: string; readonly isError?: boolean | undefined }>();
  let turn = -1;
  for (const message of end.response.messages) {
    if (message.role === "assistant") turn += 1;
    if (message.role === "tool") answers.set(`${turn}/${message.callId.slice(1)}`, message);
  }
  const [files, texts]: [string[], string[]] = [[], []];
  for (const [t, calls] of shape.turns.entries()) {
    for (const c of calls.keys()) {
      const at = `${t}/${c}`;
      const answer = answers.get(at);
      if (answer === undefined) checked.not("LOOP-1 no answer for", at);
      else if (leftBehind.test(answer.text)) checked.not("EFF-3 the model reads", answer.text);
      if (answer === undefined || answer.isError === true || !answer.text.startsWith(`ok ${at}`)) continue;
      const { kind, inside } = callAt(shape, at);
      const { writes, notes: isNoted }: Kind = kinds[kind];
      if (writes === true) files.push(at.replaceAll("/", "-"));
      if (isNoted === true) texts.push(at);
      const isChanging = !("readOnly" in kinds[kind]);
      inside.forEach((each, n) => void (isChanging && each.kind === "note" && texts.push(`${at}/${n}`)));
    }
  }
  checked.same("RSM-2 files", files.toSorted(), (await end.files.glob("**")).toSorted());
  const session = await journal.session("r", { slices: [notes] });
  checked.same("RSM-2 notes", texts.toSorted(), session.get(notes).toSorted());
}

/** With and without its handlers, the run comes to what is recorded. */
async function checkReplays(
  checked: Checked,
  of: Interrupted,
  journal: Journal,
  id: string,
  response: PromptResponse<string>,
): Promise<void> {
  const session = await journal.session(id, { slices: [notes] });
  for (const tools of ["recorded", "run"] as const) {
    const rule = `${tools === "run" ? "RPL-3" : "RPL-1"} the replay of ${id}`;
    const before = countOf(of.deeds);
    const attempt = { number: 0, step: async () => {} };
    const prompt = interruptedPrompt({ shape: of.shape, deeds: of.deeds, attempt });
    checked.replays += 1;
    try {
      const resources = [provide(Filesystem, memoryFilesystem())];
      const again = await replay(prompt, journal.replay(id, { tools }), { resources });
      checked.events += again.events.length;
      checked.same(`${rule}: messages`, response.messages, again.response?.messages ?? again.failure?.message);
      checked.same(`${rule}: session`, session, again.session);
    } catch (error) {
      checked.not(`${rule} differs:`, error instanceof Error ? error.message : error);
      checked.trace.push(...(await listed(journal.entries(id))).map((entry) => JSON.stringify(entry)));
    }
    if (tools === "recorded" && countOf(of.deeds) !== before) checked.not("RPL-2", "a handler ran");
  }
}

/** A run that a limit ended, or that waits, replays up to there. */
export async function checkFailed(checked: Checked, of: Interrupted, failed: Error): Promise<void> {
  // What another process has taken over is that one's, which may wait by now.
  if (!isEvaluationFailure(failed) || (failed instanceof RunError && failed.reason === "fenced")) return;
  const journal = createJournal(of.store);
  // It ended before anything was recorded, or another process has it.
  if ((await journal.describe("r")) === undefined || !["failed", "suspended"].includes(await stateOf(journal))) return;
  for (const tools of ["recorded", "run"] as const) {
    checked.replays += 1;
    const attempt = { number: 0, step: async () => {} };
    const prompt = interruptedPrompt({ shape: of.shape, deeds: newDeeds(), attempt });
    try {
      const resources = [provide(Filesystem, memoryFilesystem())];
      const again = await replay(prompt, journal.replay("r", { tools }), { resources });
      checked.same(`RPL-7 tools ${tools}: the failure`, failed.message, again.failure?.message);
    } catch (error) {
      checked.not(`RPL-7 tools ${tools}: the replay of a failure differs:`, String(error));
      checked.trace.push(...(await listed(journal.entries("r"))).map((entry) => JSON.stringify(entry)));
    }
  }
}

const stateOf = async (journal: Journal): Promise<string> => (await journal.describe("r"))?.state ?? "";

/** Every other fork asks with another choice, which its replays have to have. */
const otherChoice = ({ seed }: Interrupted): { readonly toolChoice?: "auto" } =>
  seed % 2 === 0 ? {} : { toolChoice: "auto" };

/** Forked at a step, what waits in it is allowed, and it replays in both ways; what was done before is not done again. */
async function checkFork(checked: Checked, of: Interrupted, journal: Journal): Promise<void> {
  const steps = (await journal.describe("r"))?.steps ?? 0;
  const at = of.seed % (steps + 1);
  const before = new Map(Array.from(of.deeds.begun, ([key, { length }]) => [key, length]));
  for (let times = 0; times < 30; times++) {
    const process = of.newProcess();
    const came = await process.evaluated(process.journal.fork("r", { at, id: "f" }), otherChoice(of));
    if (came instanceof RunError && came.reason === "suspended") {
      await journal.resolve(came.pending?.token ?? "", allow());
      continue;
    }
    if (typeof came === "string" || came instanceof Error)
      return checked.not(`FRK-1 the fork at ${at} fails:`, String(came));
    for (const [key, times] of of.deeds.begun) {
      const count = before.get(key) ?? times.length;
      if (times.length > count) checked.not(`FRK-5 the fork at ${at} does again:`, `${times[0]?.kind} ${times[0]?.at}`);
    }
    return checkReplays(checked, of, journal, "f", came);
  }
  checked.not(`FRK-1 the fork at ${at} never ends:`, steps);
}
