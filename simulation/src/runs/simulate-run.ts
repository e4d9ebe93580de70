// One recorded evaluation from a seed: replayed with and without its handlers, asked again, cut off anywhere and continued,
// forked; each of these replays again.
import { allow, deny, RunError, toolOk, type EvaluationFailure, type ModelProvider } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry, type JournalOptions } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { createSession, memoryBlobs, modelAdapter } from "@proviso/runtime";
import { randomFrom, type Random } from "../random.ts";
import { Checked, listed, type RunOutcome } from "./checked.ts";
import { interrupted } from "./interrupted.ts";
import { cameOf, evaluated, givenOf, hear, newSession, promptOf, resourcesOf, type Came } from "./recorded.ts";
import { secret, shapeOf, type Shape } from "./shape.ts";

type Tools = "recorded" | "run";
const bothWays: readonly Tools[] = ["recorded", "run"];

/** What a replay has to come to again. */
function outcomeOf({ response, error }: Pick<Came, "response" | "error">): unknown {
  if (response !== undefined) {
    const { run: _run, providerPayload: _payload, ...same } = response;
    return same;
  }
  const { name, message } = error as Error;
  const { code, usage, phase, messages, toolResults } = error as EvaluationFailure;
  return {
    name,
    code,
    message,
    usage,
    phase,
    messages,
    toolResults: toolResults.map(({ callId, result }) => [callId, result]),
  };
}

/** The run through the same code, without a model. */
async function replayed(shape: Shape, journal: Journal, id: string, tools: Tools): Promise<Came> {
  const [begun] = await listed(journal.entries(id));
  if (begun?.kind !== "begun") throw new Error("There is no such run.");
  const { adapter: name, model, nativeOutput } = begun;
  const provider: ModelProvider = {
    name,
    model,
    capabilities: { tools: true, nativeOutput },
    generate: () => Promise.reject(new Error("A replay asks no model.")),
  };
  const session = createSession({ id: begun.session.id });
  const events = hear(shape, session, undefined);
  const done: string[] = [];
  const { overrides, context } = givenOf(shape);
  const options = {
    overrides,
    context,
    session,
    resources: resourcesOf(memoryBlobs()),
    run: journal.replay(id, { tools }),
  } as never;
  return {
    ...(await cameOf(shape, modelAdapter(provider), promptOf(shape, done), options)),
    session,
    events,
    done,
    asked: 0,
  };
}

/** A journal that has the first entries of a run, whose process is gone. */
async function cutOff(entries: readonly JournalEntry[], count: number, options: JournalOptions): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store, options);
}

/** Replays in both modes, each of which comes to what is recorded. */
async function replays(
  checked: Checked,
  journal: Journal,
  id: string,
  before: Came | undefined,
  ways: readonly Tools[] = bothWays,
): Promise<void> {
  const { shape } = checked;
  let first = before;
  for (const tools of ways) {
    const rule = tools === "run" ? "RPL-3" : "RPL-1";
    const came = await replayed(shape, journal, id, tools);
    checked.replays += 1;
    checked.events += came.events.length;
    checked.trace.push(`${id} replayed, tools ${tools}: ${came.error?.message ?? "executed"}`);
    if (came.error instanceof RunError && came.error.reason !== "suspended") {
      checked.not(`${rule} the replay of ${id} differs:`, came.error.message);
      checked.trace.push(...(await listed(journal.entries(id))).map((entry) => JSON.stringify(entry)));
      continue;
    }
    if (first !== undefined) {
      compared(checked, `${rule} ${id}`, first, came);
      // Calls whose arguments were hidden, and those that a limit has stopped, are answered from the record.
      const isAll =
        !shape.hasSecret &&
        !["aborted", "deadline"].includes((first.error as EvaluationFailure | undefined)?.code ?? "");
      if (tools === "run" && before !== undefined && isAll) checked.same("RPL-3 handlers", before.done, came.done);
    }
    if (tools === "recorded" && came.done.length > 0) checked.not("RPL-2 a handler ran:", came.done);
    first ??= came;
  }
}

function compared({ same }: Checked, rule: string, before: Came, now: Came): void;
function compared(checked: Checked, rule: string, before: Came, now: Came): void {
  for (const [index, event] of before.events.entries()) {
    if (event === now.events[index]) continue;
    checked.same(`${rule} event ${index}`, event, now.events[index]);
    break;
  }
  checked.same(`${rule} number of events`, before.events.length, now.events.length);
  const hasMerged = Math.max(before.streamed.length, now.streamed.length) >= mostUnread;
  const shown = ({ streamed }: Came): string => (hasMerged ? withoutSplits(streamed) : streamed).join("\n");
  checked.same(`${rule} stream`, shown(before), shown(now));
  checked.same(`${rule} session`, before.session, now.session);
  checked.same(`${rule} outcome`, outcomeOf(before), outcomeOf(now));
}

/** So many unread events wait; then deltas are merged, which depends on how fast they are read (STR-2). */
const mostUnread = 1_024;

/** A stream in which the deltas between two other events are one of each kind: the last of the output, and whole texts. */
function withoutSplits(streamed: readonly string[]): readonly string[] {
  const all: string[] = [];
  let deltas = new Map<string, string>();
  const end = (): void => {
    for (const [type, text] of deltas) all.push(`${type}: ${text}`);
    deltas = new Map();
  };
  for (const json of streamed) {
    const { type, text, partial } = JSON.parse(json) as { type: string; text?: string; partial?: unknown };
    if (!type.endsWith(".delta")) {
      end();
      all.push(json);
    } else deltas.set(type, type === "output.delta" ? JSON.stringify(partial) : (deltas.get(type) ?? "") + text);
  }
  end();
  return all;
}

/** Whether a run has an end, or waits: the record of another one stops anywhere. */
function hasEnd({ error }: Came): boolean {
  return !(error instanceof RunError) || error.reason === "suspended";
}

/** Evaluates what waits until nothing waits any more; each decision is the shape's. */
async function decided(checked: Checked, journal: Journal, came: Came, process: number): Promise<Came> {
  const { shape, blobs } = checked;
  let last = came;
  for (let times = 1; last.error instanceof RunError && last.error.reason === "suspended" && times < 20; times++) {
    const { token = "" } = last.error.pending ?? {};
    const decision = { allow: allow(), deny: deny("Decided: no."), result: { result: toolOk(`decided ${times}`) } };
    await journal.resolve(token, decision[shape.decision]);
    last = await evaluated(shape, { run: journal.run("r"), blobs, process: process + times });
    checked.trace.push(`decided (${shape.decision}): ${last.error?.message ?? "executed"}`);
  }
  return last;
}

/** Ends that a run has where nothing is wrong: what was hidden cannot be gone on with. */
function isExpected({ error }: Came, { hasSecret }: Shape): boolean {
  if (!(error instanceof RunError)) return true;
  return error.reason === "suspended" || (hasSecret && (error.reason === "redacted" || error.reason === "state"));
}

/** No call that was kept is done again. */
function doneOnce(checked: Checked, kept: readonly JournalEntry[], { done }: Came): void {
  const keys = new Map<string, string>();
  for (const entry of kept) {
    if (entry.kind === "started") keys.set(`${entry.evaluationId} ${entry.turn} ${entry.callId}`, entry.idempotencyKey);
    if (entry.kind !== "committed" || entry.evaluationId !== kept[0]?.evaluationId) continue;
    for (const id of entry.callIds) {
      const key = keys.get(`${entry.evaluationId} ${entry.turn} ${id}`);
      if (key !== undefined && done.some((each) => each.endsWith(` ${key}`))) checked.not("RSM-2 done again:", key);
    }
  }
}

/** One recorded evaluation from a seed, and all that can be made of its record. */
export async function simulateRun(seed: number): Promise<RunOutcome> {
  const shape = shapeOf(seed);
  const checked = new Checked(shape);
  const random = randomFrom(seed ^ 0x5bd1e995);
  checked.trace.push(JSON.stringify(shape));
  await everything(checked, random).catch((error: unknown) => {
    checked.not("SIM it threw:", error instanceof Error ? (error.stack ?? error.message) : String(error));
  });
  await interrupted(checked, seed).catch((error: unknown) => {
    checked.not("SIM it threw:", error instanceof Error ? (error.stack ?? error.message) : String(error));
  });
  const { violations, trace, events, replays: count } = checked;
  return { seed, violations, trace, events, replays: count };
}

async function everything(checked: Checked, random: Random): Promise<void> {
  const { blobs, shape, trace } = checked;
  const options: JournalOptions = shape.hasSecret ? { secrets: [secret] } : {};
  const journal = memoryJournal(options);
  const session = newSession(shape);
  const first = await evaluated(shape, { run: journal.run("r"), blobs, session, process: 1, isLimited: true });
  const failed = first.error as EvaluationFailure | undefined;
  const entries = await listed(journal.entries("r"));
  // The deadline had passed before it began.
  if (entries.length === 0 && failed?.code === "deadline") return;
  trace.push(...entries.map((entry) => JSON.stringify(entry)), `recorded: ${first.error?.message ?? "executed"}`);
  if (failed?.code === "internal" || !isExpected(first, shape)) checked.not("ERR-1 unforeseen:", failed?.message);
  await replays(checked, journal, "r", first);
  await again(checked, journal, first);

  const cut = 1 + random.int(entries.length);
  trace.push(`cut after ${cut} of ${entries.length}`);
  const later = await cutOff(entries, cut, options);
  const resumed = await evaluated(shape, { run: later.run("r", { takeOver: true }), blobs, process: 2 });
  trace.push(`resumed: ${resumed.error?.message ?? "executed"}`);
  if (!isExpected(resumed, shape)) checked.not("RSM-2 it cannot go on:", resumed.error?.message);
  doneOnce(checked, entries.slice(0, cut), resumed);
  const last = await decided(checked, later, resumed, 2);
  if (!isExpected(last, shape)) checked.not("SUS-2 it cannot go on:", last.error?.message);
  if (hasEnd(last)) await replays(checked, later, "r", undefined);
  await forked(checked, journal, random.int(((await journal.describe("r"))?.steps ?? 0) + 1));
}

/** A run that has ended for good gives its end again; another one goes on, and replays after that. */
async function again(checked: Checked, journal: Journal, first: Came): Promise<void> {
  const { blobs, shape, trace } = checked;
  const state = (await journal.describe("r"))?.state;
  const ended = first.error === undefined || (await listed(journal.entries("r"))).at(-1);
  const goesOn = typeof ended === "object" && !(ended.kind === "ended" && ended.goesOn !== true);
  if (goesOn) {
    const waiting = hasEnd(first) && first.error instanceof RunError;
    const next = waiting ? first : await evaluated(shape, { run: journal.run("r"), blobs, process: 3 });
    const came = await decided(checked, journal, next, 3);
    trace.push(`${state} went on: ${came.error?.message ?? "executed"}`);
    if (!isExpected(came, shape)) checked.not("RSM-1 it cannot go on:", came.error?.message);
    if (hasEnd(came)) await replays(checked, journal, "r", undefined);
    return;
  }
  const came = await evaluated(shape, { run: journal.run("r"), blobs, process: 4 });
  trace.push(`asked again: ${came.error?.message ?? "executed"}`);
  checked.same("RSM-1", outcomeOf(first), outcomeOf(came));
  if (came.asked + came.done.length > 0) checked.not("RSM-1 something was done:", came.done);
}

async function forked(checked: Checked, journal: Journal, at: number): Promise<void> {
  const { blobs, shape, trace } = checked;
  const timeline = (await journal.describe("r"))?.timeline ?? [];
  // Another result changes what handlers read, so it is not run again.
  const result = shape.seed % 3 === 0 && timeline[at - 1]?.kind === "call" ? { result: toolOk("instead") } : {};
  const before = JSON.stringify(await listed(journal.entries("r")));
  const came = await evaluated(shape, { run: journal.fork("r", { at, id: "f", ...result }), blobs, process: 5 });
  trace.push(`forked at ${at}: ${came.error?.message ?? "executed"}`);
  if (!isExpected(came, shape)) checked.not(`FRK-1 the fork at ${at} fails:`, came.error?.message);
  checked.same("FRK-5 the origin", before, JSON.stringify(await listed(journal.entries("r"))));
  if (hasEnd(came)) await replays(checked, journal, "f", undefined, "result" in result ? ["recorded"] : bothWays);
}
