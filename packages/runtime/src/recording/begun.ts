import { type EvaluateOptions, type PromptOverride } from "@proviso/core";
import { toJsonValue } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { differenceIn } from "./compare.ts";
import type { EntryContent, JournalEntry, RecordedHistory } from "./entries.ts";
import type { RecordedSession } from "./session.ts";
import { earlierOf } from "./recorded-history.ts";

type Begun = Extract<EntryContent, { readonly kind: "begun" }>;

/** What a run begins with: all that a replay needs beside the prompt itself. */
export function begunEntry(
  run: Run,
  { core, state, seq }: RecordedSession,
  options: EvaluateOptions,
  override: PromptOverride | undefined,
): Begun {
  const hidden = run.redaction.value({ params: shownParams(run), state });
  return {
    kind: "begun",
    prompt: run.promptName,
    params: hidden.params,
    ...surroundingsOf(run, options),
    ...(hasHistory(options) ? { history: historyOf(run) } : {}),
    session: { id: core.session.id, seq, state: hidden.state },
    ...(override === undefined ? {} : { override }),
  };
}

/** The params of a prompt as JSON, with files as references. */
function shownParams({ files, prompt: { params } }: Run): unknown {
  return toJsonValue(files?.params(params) ?? params)?.value ?? {};
}

type Given = Extract<EntryContent, { readonly kind: "given" }>;

/** What a run began with, with what later attempts were given instead; undefined: it has not begun. */
export function lastGiven(entries: readonly JournalEntry[]): Begun | undefined {
  const [begun] = entries;
  if (begun?.kind !== "begun") return undefined;
  let last: Begun = begun;
  for (const entry of entries) {
    if (entry.kind === "adopted") last = { ...last, params: entry.params ?? last.params };
    if (entry.kind !== "given") continue;
    const { params = last.params, adapter = last.adapter, model = last.model } = entry;
    const { nativeOutput = last.nativeOutput, options = last.options, history = last.history } = entry;
    last = { ...last, params, adapter, model, nativeOutput, options, history };
  }
  return last;
}

/** The params that the steps of a record were asked with last. */
export function recordedParams(entries: readonly JournalEntry[]): unknown {
  return lastGiven(entries)?.params;
}

/**
 * What an evaluation that goes on with a record is given that the record does not say; undefined: nothing. `isFree`: the
 * history may be another one.
 */
export function givenEntry(
  run: Run,
  options: EvaluateOptions,
  entries: readonly JournalEntry[],
  isFree: boolean,
): Given | undefined {
  const before = lastGiven(entries);
  const isWithHistory = isFree && (hasHistory(options) || before?.history !== undefined);
  const now: Omit<Given, "kind"> = {
    params: run.redaction.value(shownParams(run)),
    ...surroundingsOf(run, options),
    ...(isWithHistory ? { history: historyOf(run) } : {}),
  };
  const isOther = ([name, value]: readonly [string, unknown]): boolean =>
    differenceIn(before?.[name as keyof typeof now], toJsonValue(value)?.value) !== undefined;
  const others = Object.entries(now).filter(isOther);
  return others.length === 0 ? undefined : { kind: "given", ...Object.fromEntries(others) };
}

type Surroundings = Pick<Begun, "adapter" | "model" | "nativeOutput" | "options">;

function surroundingsOf(run: Run, { maxDepth }: EvaluateOptions): Surroundings {
  const { model, adapter, nativeOutput, maxTurns, maxRepairs, toolChoice } = run;
  const given = {
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(maxDepth === undefined ? {} : { maxDepth }),
  };
  return { adapter: adapter.name, model, nativeOutput, options: { maxTurns, maxRepairs, ...given } };
}

function hasHistory({ messages, continueFrom }: EvaluateOptions): boolean {
  return messages !== undefined || continueFrom !== undefined;
}

/** The history of an evaluation that begins; a replay is given none. */
function historyOf(run: Run): RecordedHistory {
  const { question, earlier, added } = run.history;
  const all = run.history.messages();
  const { messages: shown } = run.redaction.details({ messages: all } as never) as { readonly messages: typeof all };
  return {
    messages: shown,
    ...(question === undefined ? {} : { question }),
    earlier,
    ...(added === undefined ? {} : { added: run.redaction.value(added) }),
  };
}

/** Gives an evaluation that is replayed the history that the recorded one was given. */
export function recallHistory({ history }: Run, { messages, question, earlier, added }: RecordedHistory): void {
  history.replace({ messages, question });
  history.earlier = earlierOf({ messages, question, earlier });
  history.added = added;
}
