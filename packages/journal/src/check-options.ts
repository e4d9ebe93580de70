// What the methods of a journal take. Numbers that cannot be would remove everything, or nothing, without a word.
import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import type { Journal, RunFilter, RunState } from "./journal.ts";

/** @throws {DefinitionError} for what is no object, and for a name that is none of these. */
export function checkOptions(what: string, given: unknown, names: object): void {
  if (!isRecord(given)) throw new DefinitionError(`${what} takes an object of options, not ${describeValue(given)}.`);
  checkOptionNames(what, given, names);
}

function check(isRight: boolean, what: string, name: string, { has, not }: { has: string; not: unknown }): void {
  if (isRight) return;
  throw new DefinitionError(`${what}: ${name} has to be ${has}, not ${shown(not)}.`);
}

function shown(value: unknown): string {
  return value instanceof Date ? "a date that is none" : describeValue(value);
}

const storeMethods = ["append", "read", "list", "remove", "close"] as const;

/** @throws {DefinitionError} for what is no store. */
export function checkStore(store: unknown): void {
  const missing = storeMethods.filter((name) => !isRecord(store) || typeof store[name] !== "function");
  if (missing.length === 0) return;
  throw new DefinitionError(
    `A journal needs a store with ${storeMethods.join(", ")}: this one lacks ${missing.join(", ")}.`,
  );
}

const isText = (value: unknown): boolean => value === undefined || typeof value === "string";
const isDate = (value: unknown): boolean =>
  value === undefined || (value instanceof Date && !Number.isNaN(value.getTime()));
const isWhole = (value: unknown, least: number): boolean =>
  value === undefined || (Number.isSafeInteger(value) && (value as number) >= least);

/** @throws {DefinitionError} for a pruning that keeps everything, and for options that cannot be. */
export function checkPrune(options: Parameters<Journal["prune"]>[0]): void {
  checkOptions("prune", options, { endedBefore: true, keep: true });
  const { endedBefore, keep } = options;
  if (endedBefore === undefined && keep === undefined) {
    throw new DefinitionError("prune needs endedBefore, keep or both.");
  }
  check(isDate(endedBefore), "prune", "endedBefore", { has: "a Date", not: endedBefore });
  check(isWhole(keep, 0), "prune", "keep", { has: "a whole number from 0", not: keep });
}

const states: Readonly<Record<RunState, true>> = {
  open: true,
  suspended: true,
  executed: true,
  failed: true,
  cancelled: true,
};

/** @throws {DefinitionError} for a filter that cannot be. */
export function checkFilter(filter: RunFilter): void {
  checkOptions("list", filter, { state: true, prompt: true, since: true, prefix: true });
  const { state, prompt, since, prefix } = filter;
  for (const one of [state].flat()) {
    const isState = one === undefined || (typeof one === "string" && Object.hasOwn(states, one));
    check(isState, "list", "state", { has: `one of ${Object.keys(states).join(", ")}`, not: one });
  }
  check(isText(prompt), "list", "prompt", { has: "a text", not: prompt });
  check(isDate(since), "list", "since", { has: "a Date", not: since });
  check(isText(prefix), "list", "prefix", { has: "a text", not: prefix });
}

/** @throws {DefinitionError} for options that cannot be. */
export function checkEntries(options: NonNullable<Parameters<Journal["entries"]>[1]>): void {
  checkOptions("entries", options, { after: true, follow: true, signal: true });
  const { after, follow, signal } = options;
  check(isWhole(after, -1), "entries", "after", { has: "a whole number from -1", not: after });
  const isFlag = follow === undefined || typeof follow === "boolean";
  check(isFlag, "entries", "follow", { has: "true or false", not: follow });
  const isSignal = signal === undefined || (isRecord(signal) && typeof signal.aborted === "boolean");
  check(isSignal, "entries", "signal", { has: "an AbortSignal", not: signal });
}

/** @throws {DefinitionError} for options that cannot be. */
export function checkSession(options: Parameters<Journal["session"]>[1]): void {
  checkOptions("session", options, { slices: true, at: true });
  const { slices, at } = options;
  check(Array.isArray(slices), "session", "slices", { has: "a list of slices", not: slices });
  check(isWhole(at, 0), "session", "at", { has: "a whole number from 0", not: at });
}

/** @throws {DefinitionError} for what is no reason. */
export function checkReason(reason: unknown): void {
  check(isText(reason), "cancel", "the reason", { has: "a text", not: reason });
}
