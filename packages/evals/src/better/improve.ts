// Searches for a better override on some rows, and asks others whether it may be stored.
import { DefinitionError, type OverridesStore, type PromptOverride, type Usage } from "@proviso/core";
import {
  addUsage,
  checkOverride,
  checkTag,
  contentHash,
  messageOf,
  noUsage,
  describeValue,
} from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { trackerOf } from "@proviso/runtime/internal";
import { boundsOf } from "../bounded.ts";
import { listed, namedRows, type NamedRow } from "../data/rows.ts";
import { defineEval, definitionOf, scorerOf, type AnyDefinition } from "../define/define-eval.ts";
import type { Data, Eval } from "../definition.ts";
import type { AttemptRecord, Difference, EvalReport } from "../results.ts";
import { checkRunOptions, runOptionNames, type RunOptions } from "../run/options.ts";
import { rowsToRun } from "../run/part.ts";
import { runEval } from "../run/run-eval.ts";
import { checkComparison, checkSides, notWorse, sidesOf, type Acceptance } from "./not-worse.ts";
import { sharedStore } from "./shared-store.ts";
import { ownField } from "../own-field.ts";

/** A candidate and how it did on the train rows. */
export interface Round {
  /** The override that was tried. */
  readonly candidate: PromptOverride;
  /** The candidate less what is stored. */
  readonly difference: Difference;
  /** The attempts on rows where what is stored did better: what a proposer learns from. */
  readonly losses: readonly AttemptRecord[];
}

/** A candidate that was not run. */
export interface RefusedCandidate {
  /** The override. */
  readonly candidate: PromptOverride;
  /** Why: it is stale, or names what the prompt has not. */
  readonly why: string;
}

/** What `improve` takes beside the options of its runs; budget, store and signal are those of all of them together. */
export interface ImproveOptions<Row extends object> extends RunOptions {
  /** Rows that candidates are compared on. */
  readonly train: Data<Row>;
  /** Rows that decide, once, with the best candidate. */
  readonly test: Data<Row>;
  /** The name of the scorer that decides. */
  readonly scorer: string;
  /** The most that the best candidate may lose on the test rows, in the unit of the score. Default 0. */
  readonly margin?: number | undefined;
  /** How often candidates are asked for, at most. Default 5. */
  readonly rounds?: number | undefined;
  /** Where what was accepted is stored. */
  readonly overrides: { readonly store: OverridesStore; readonly tag: string };
  /** Returns candidates for the next round; none ends the search. It also gets those that were refused and not run. */
  readonly propose: (
    history: readonly Round[],
    refused: readonly RefusedCandidate[],
  ) => Promise<readonly PromptOverride[]>;
}

/** What a search came to. */
export interface Improvement {
  /** Every candidate that was compared, in order. */
  readonly rounds: readonly Round[];
  /** Candidates that were refused and not run. */
  readonly refused: readonly RefusedCandidate[];
  /** The best candidate; undefined: none was better than what is stored, on the train rows. */
  readonly best: PromptOverride | undefined;
  /** Whether the best was stored, and why. `spent` is that of the whole search. */
  readonly acceptance: Acceptance;
}

const names = {
  train: true,
  test: true,
  scorer: true,
  margin: true,
  rounds: true,
  overrides: true,
  propose: true,
  ...runOptionNames,
} as const;

/**
 * Asks for candidates, compares each with what is stored on the train rows, and asks once, with the best, on the test rows
 * whether it may be stored. Only the definition's first variant runs, and its data are not read.
 * @throws {DefinitionError} before anything is spent: fewer than 2 train rows or groups, train and test that share
 * a row or a group, a sample that is larger than either part, rows with prompts of several templates, an unknown scorer,
 * `compareWith`, `onlyVariants` and `onlyRows`. And whatever `runEval`, `propose` and the store of overrides reject with.
 */
export async function improve<Row extends object>(
  definition: Eval,
  options: ImproveOptions<Row>,
): Promise<Improvement> {
  const { train, test, scorer, margin = 0, rounds = 5, overrides, propose, ...run } = options;
  checkOptionNames("improve", options, names);
  const given = definitionOf(definition);
  checkComparison(given, { scorer, margin, ...run });
  checkTag(overrides.tag);
  if (!Number.isSafeInteger(rounds) || rounds < 1) {
    throw new DefinitionError(`rounds has to be a whole number from 1, not ${describeValue(rounds)}.`);
  }
  const parts = await checkedParts(given, { train, test }, run);
  const descriptor = descriptorOf(given, [...parts.train, ...parts.test]);
  const { store, tag } = overrides;
  const current = await store.resolve(descriptor, tag);
  // What is stored runs once on each row, however many rounds there are, and all of it has one budget.
  const shared: RunOptions = { ...run, budget: trackerOf(run.budget), ...sharedStore(run) };
  const search = new Search({ ...given, data: parts.train.map(({ row }) => row) }, { current, scorer, shared });
  for (let round = 0; round < rounds && search.ended === undefined; round++) {
    const proposed = await propose(search.rounds, search.refused);
    if (proposed.length === 0) break;
    const fresh = proposed.filter((candidate) => search.isFit(candidate, () => checkOverride(candidate, descriptor)));
    if (fresh.length > 0) await search.compare(fresh);
  }
  const best = search.best();
  const { rounds: history, refused } = search;
  const unasked = (why: string): Improvement => {
    return {
      rounds: history,
      refused,
      best,
      acceptance: { accepted: false, why, difference: undefined, spent: search.spent },
    };
  };
  if (search.ended !== undefined) return unasked(`The search ended early: ${search.ended.message}`);
  if (best === undefined && search.hasUncompared) {
    return unasked("A candidate could not be compared: fewer than 2 train rows, or groups, have a score of both.");
  }
  if (best === undefined) return unasked("No candidate was better than what is stored, on the train rows.");
  const decide = notWorse(defineEval({ ...given, data: parts.test.map(({ row }) => row) }), {
    ...shared,
    scorer,
    margin,
  });
  const decided = await decide(best, current);
  const acceptance = { ...decided, spent: addUsage(search.spent, decided.spent) };
  if (!acceptance.accepted) return { rounds: history, refused, best, acceptance };
  if (contentHash((await store.resolve(descriptor, tag)) ?? null) !== contentHash(current ?? null)) {
    const why = `What is stored under "${tag}" has changed since the search began; the candidate is not stored.`;
    return { rounds: history, refused, best, acceptance: { ...acceptance, accepted: false, why } };
  }
  await store.upsert(descriptor, { ...best, tag });
  return { rounds: history, refused, best, acceptance };
}

/** The rows of both parts. @throws {DefinitionError} for rows and options with which nothing could be compared. */
async function checkedParts<Row extends object>(
  given: AnyDefinition,
  { train, test }: Pick<ImproveOptions<Row>, "train" | "test">,
  run: RunOptions,
): Promise<Readonly<Record<"train" | "test", readonly NamedRow<object>[]>>> {
  checkRunOptions(run);
  checkSides("improve", run);
  if (run.onlyRows !== undefined) {
    throw new DefinitionError("improve takes its rows from train and test: leave out onlyRows.");
  }
  const bounds = boundsOf(run, given.timeoutMs);
  const parts = { train: await namedRows(train, given, bounds), test: await namedRows(test, given, bounds) };
  // A sample is drawn from either part, so both have to have as many rows.
  for (const part of Object.values(parts)) rowsToRun(part, run);
  checkEnough(rowsToRun(parts.train, run));
  checkApart(parts.train, parts.test);
  return parts;
}

interface SearchParts {
  readonly current: PromptOverride | undefined;
  readonly scorer: string;
  readonly shared: RunOptions;
}

class Search {
  readonly rounds: Round[] = [];
  readonly refused: RefusedCandidate[] = [];
  spent: Usage = noUsage;
  ended: EvalReport["ended"];
  /** Whether candidates were run that no train row compares with what is stored. */
  hasUncompared = false;
  readonly #definition: AnyDefinition;
  readonly #parts: SearchParts;
  /** -1: less is better. */
  readonly #sign: 1 | -1;

  constructor(definition: AnyDefinition, parts: SearchParts) {
    this.#definition = definition;
    this.#parts = parts;
    const { range } = scorerOf(definition.scorers[parts.scorer] as Parameters<typeof scorerOf>[0]);
    this.#sign = range[1] >= range[0] ? 1 : -1;
  }

  isFit(candidate: PromptOverride, check: () => void): boolean {
    try {
      check();
      return true;
    } catch (error) {
      if (!(error instanceof DefinitionError)) throw error;
      this.refused.push({ candidate, why: messageOf(error) });
      return false;
    }
  }

  async compare(candidates: readonly PromptOverride[]): Promise<void> {
    const { current, scorer, shared } = this.#parts;
    const named = candidates.map((candidate, at) => [`candidate ${at + 1}`, candidate] as const);
    const sides = sidesOf(this.#definition, scorer, { current, candidates: Object.fromEntries(named) });
    const report = await runEval(defineEval({ ...sides, gates: {} }), shared);
    this.spent = addUsage(this.spent, report.spent);
    if (report.ended !== undefined) this.ended = report.ended;
    for (const [name, candidate] of named) {
      const difference = ownField(ownField(report.differences, name), scorer);
      if (difference === undefined) this.hasUncompared = true;
      else this.rounds.push({ candidate, difference, losses: this.#losses(report, name) });
    }
  }

  /** The first of those that gained most. */
  best(): PromptOverride | undefined {
    let best: PromptOverride | undefined;
    let most = 0;
    for (const { candidate, difference } of this.rounds) {
      const gain = difference.value * this.#sign;
      if (gain <= most) continue;
      best = candidate;
      most = gain;
    }
    return best;
  }

  #losses({ attempts }: EvalReport, variant: string): readonly AttemptRecord[] {
    const { scorer } = this.#parts;
    const valueOf = ({ scores }: AttemptRecord): number | undefined => {
      const score = ownField(scores, scorer);
      return score !== undefined && "value" in score ? score.value * this.#sign : undefined;
    };
    const keyOf = ({ rowId, repetition }: AttemptRecord): string => JSON.stringify([rowId, repetition]);
    const stored = new Map<string, number>();
    for (const record of attempts) {
      const value = valueOf(record);
      if (record.variant === "current" && value !== undefined) stored.set(keyOf(record), value);
    }
    return attempts.filter((record) => {
      const value = valueOf(record);
      const before = stored.get(keyOf(record));
      return record.variant === variant && value !== undefined && before !== undefined && value < before;
    });
  }
}

/** @throws {DefinitionError} for rows that no difference could be made of. */
function checkEnough(train: readonly NamedRow<object>[]): void {
  const clusters = new Set(train.map(({ id, group }) => group ?? id));
  if (clusters.size >= 2) return;
  const what = train.some(({ group }) => group !== undefined) ? "groups" : "rows";
  throw new DefinitionError(`improve needs at least 2 ${what} to train on: with fewer no candidate can be compared.`);
}

/** @throws {DefinitionError} for rows or groups that both parts have. */
function checkApart(train: readonly NamedRow<object>[], test: readonly NamedRow<object>[]): void {
  const [ids, hashes, groups] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const { id, hash, group } of train) {
    ids.add(id);
    hashes.add(hash);
    if (group !== undefined) groups.add(group);
  }
  const faults = new Set<string>();
  for (const { id, hash, group } of test) {
    if (ids.has(id) || hashes.has(hash)) faults.add(`the row "${id}"`);
    else if (group !== undefined && groups.has(group)) faults.add(`the group "${group}"`);
  }
  if (faults.size === 0) return;
  throw new DefinitionError(`Train and test have to be apart, and share ${listed([...faults])}.`);
}

/** @throws {DefinitionError} for a task, and for rows whose prompts are of several templates. */
function descriptorOf({ name, prompt, variants = {} }: AnyDefinition, rows: readonly NamedRow<object>[]) {
  const [first = {}] = Object.values(variants);
  const bound = first.prompt ?? (first.task === undefined ? prompt : undefined);
  if (bound === undefined) throw new DefinitionError(`The eval "${name}" has a task: improve needs a prompt.`);
  const templates = new Set(rows.map(({ row }) => bound(row).template));
  const [template] = templates;
  if (template !== undefined && templates.size === 1) return template.descriptor;
  const found = [...templates].map((each) => each.name).join(", ");
  throw new DefinitionError(`The rows of the eval "${name}" have prompts of several templates: ${found}.`);
}
