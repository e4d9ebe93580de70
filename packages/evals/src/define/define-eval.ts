import { DefinitionError, type ProviderAdapter } from "@proviso/core";
import { contentHash, describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import type {
  Eval,
  EvalDefinition,
  Gate,
  Scorer,
  ScorerLike,
  TaskContext,
  Variant,
  VariantSettings,
} from "../definition.ts";
import type { Prompt } from "@proviso/core";

/** A definition whose types do not matter any more: its functions are called with its own rows. */
export type AnyDefinition = EvalDefinition<object, unknown>;

/** A variant with nothing left out. */
export interface ReadyVariant {
  readonly name: string;
  readonly adapter: ProviderAdapter;
  readonly settings: VariantSettings;
  readonly subject:
    | { readonly prompt: (row: object) => Prompt }
    | { readonly task: (row: object, context: TaskContext) => Promise<unknown> };
}

const definitions = new WeakMap<object, AnyDefinition>();

const names = {
  name: true,
  data: true,
  id: true,
  group: true,
  prompt: true,
  task: true,
  adapter: true,
  variants: true,
  scorers: true,
  pairScorers: true,
  gates: true,
  repetitions: true,
  messages: true,
  session: true,
  resources: true,
  timeoutMs: true,
} as const;

/**
 * Makes an eval: rows, a subject in several variants, scorers, gates.
 * @throws {DefinitionError} for neither or both of `prompt` and `task`, a variant without an adapter, a gate without its
 * scorer, a bad name or number.
 */
export function defineEval<Row extends object, Output, Scorers extends object>(
  definition: EvalDefinition<Row, Output, { readonly [Name in keyof NoInfer<Scorers>]?: Gate }> & {
    readonly scorers: Scorers;
  },
): Eval {
  const { name } = definition;
  if (typeof name !== "string" || !/^[a-z0-9][a-z0-9._-]{0,63}$/u.test(name)) {
    throw new DefinitionError(
      `The name of an eval has small letters, digits, ".", "_" and "-": not ${describeValue(name)}.`,
    );
  }
  const refuse = (why: string): DefinitionError => new DefinitionError(`The eval "${name}" ${why}.`);
  checkOptionNames(`The eval "${name}"`, definition, names);
  const any = Object.freeze({ ...definition }) as unknown as AnyDefinition;
  if ((any.prompt === undefined) === (any.task === undefined)) throw refuse("needs exactly one of prompt and task");
  const scorers = Object.keys(any.scorers ?? {});
  if (scorers.length === 0) throw refuse("needs a scorer");
  for (const scorer of scorers) checkName("scorer", scorer, refuse);
  for (const scorer of scorers) checkScorer(any.scorers[scorer], (why) => refuse(`has a scorer "${scorer}" ${why}`));
  for (const [pair, given] of Object.entries(any.pairScorers ?? {})) {
    checkName("pair scorer", pair, refuse);
    if (typeof given?.prefer !== "function") throw refuse(`has a pair scorer "${pair}" without a function prefer`);
    if (scorers.includes(pair)) throw refuse(`has both a scorer and a pair scorer "${pair}"`);
  }
  const variants = variantsOf(any);
  if (variants.length === 0) throw refuse("needs a variant");
  for (const { name: variant } of variants) {
    checkName("variant", variant, refuse);
    if (!/^(0|[1-9]\d*)$/u.test(variant)) continue;
    const why = "objects put whole numbers first, whatever the order is, and the first variant is the baseline";
    throw refuse(`has a variant "${variant}": ${why}; call it "v${variant}", for example`);
  }
  for (const [scorer, gate] of Object.entries(any.gates ?? {})) {
    if (!scorers.includes(scorer)) throw refuse(`has a gate on "${scorer}", which is no scorer of it`);
    const { range } = scorerOf(any.scorers[scorer] as never);
    checkGate(gate, range, (why) => refuse(`has a gate on "${scorer}" ${why}`));
  }
  const { repetitions = 1, timeoutMs = 600_000 } = any;
  if (!Number.isSafeInteger(repetitions) || repetitions < 1) {
    throw refuse(`needs repetitions from 1, not ${describeValue(repetitions)}`);
  }
  if (!(Number.isFinite(timeoutMs) && timeoutMs > 0))
    throw refuse(`needs a finite timeoutMs above 0, not ${describeValue(timeoutMs)}`);
  const made = Object.freeze({ name });
  definitions.set(made, any);
  return made as unknown as Eval;
}

/** Returns whether a value is what `defineEval` made, an export of a module for example. Never throws. */
export function isEval(value: unknown): value is Eval {
  return typeof value === "object" && value !== null && definitions.has(value);
}

/** @throws {DefinitionError} for anything but what `defineEval` made. */
export function definitionOf(of: Eval): AnyDefinition {
  const definition = typeof of === "object" && of !== null ? definitions.get(of) : undefined;
  if (definition === undefined)
    throw new DefinitionError(`An eval is made by defineEval: this is ${describeValue(of)}.`);
  return definition;
}

/** Returns the variants of a definition; the first one is the baseline. @throws {DefinitionError} */
export function variantsOf(definition: AnyDefinition): readonly ReadyVariant[] {
  const given: Readonly<Record<string, Variant<object, unknown>>> = definition.variants ?? { default: {} };
  return Object.entries(given).map(([name, variant]): ReadyVariant => {
    const { prompt, task, ...settings } = variant;
    const refuse = (why: string): DefinitionError =>
      new DefinitionError(`The variant "${name}" of the eval "${definition.name}" ${why}.`);
    checkOptionNames(`The variant "${name}"`, variant, {
      version: true,
      adapter: true,
      overrides: true,
      options: true,
      prompt: true,
      task: true,
    });
    if (prompt !== undefined && task !== undefined) throw refuse("has both of prompt and task");
    const adapter = settings.adapter ?? definition.adapter;
    if (typeof adapter?.evaluate !== "function") throw refuse("has no adapter, and neither has the definition");
    const own = prompt ?? (task === undefined ? definition.prompt : undefined);
    if (own !== undefined) return { name, adapter, settings, subject: { prompt: own } };
    return { name, adapter, settings, subject: { task: task ?? (definition.task as NonNullable<typeof task>) } };
  });
}

/** A scorer with its defaults. */
export interface ReadyScorer extends Omit<Scorer<object, unknown>, "range" | "version"> {
  readonly range: readonly [worst: number, best: number];
  readonly version: string;
}

/** What each attempt is scored by is made once. */
const readyScorers = new WeakMap<object, ReadyScorer>();

export function scorerOf(given: ScorerLike<object, unknown>): ReadyScorer {
  const known = readyScorers.get(given);
  if (known !== undefined) return known;
  const scorer = typeof given === "function" ? { score: given } : given;
  const ready: ReadyScorer = { ...scorer, range: scorer.range ?? [0, 1], version: scorer.version ?? "1" };
  readyScorers.set(given, Object.freeze(ready));
  return ready;
}

/** Scores are compared where their scorers have the same hash. */
export function scorerHash(given: ScorerLike<object, unknown>): string {
  const { version, range } = scorerOf(given);
  return contentHash({ version, range });
}

/** Names are keys of records, and of files: a half of a surrogate pair would not be the same there. */
function checkName(what: string, name: string, refuse: (why: string) => DefinitionError): void {
  if (name !== "__proto__" && name.isWellFormed()) return;
  throw refuse(`has a ${what} ${JSON.stringify(name)}: that can be no name of one`);
}

function checkScorer(given: unknown, refuse: (why: string) => DefinitionError): void {
  const scorer: Partial<Pick<Scorer, "range">> & { readonly score?: unknown } =
    typeof given === "function" ? { score: given } : ((given ?? {}) as Partial<Scorer>);
  if (typeof scorer.score !== "function") throw refuse("that is neither a function nor an object with score");
  checkRange(scorer.range ?? [0, 1], refuse);
}

/** The squares of scores of this size are added up over all rows, and stay numbers. */
const largestScore = 1e100;

function checkRange(range: unknown, refuse: (why: string) => DefinitionError): void {
  const isPair = Array.isArray(range) && range.length === 2 && range.every(Number.isFinite) && range[0] !== range[1];
  if (!isPair) throw refuse("whose range does not have two different numbers");
  if (range.every((end) => Math.abs(end) <= largestScore)) return;
  throw refuse(`whose range is not from -${largestScore} to ${largestScore}: sums of such scores would be infinite`);
}

function checkGate(
  { atLeast, noWorseBy }: Gate,
  range: readonly [number, number],
  refuse: (why: string) => DefinitionError,
): void {
  const [least, most] = [Math.min(...range), Math.max(...range)];
  const scores = `its scores go from ${least} to ${most}`;
  if (atLeast === undefined && noWorseBy === undefined) throw refuse("with neither atLeast nor noWorseBy");
  if (atLeast !== undefined && !Number.isFinite(atLeast)) throw refuse("whose atLeast is no number");
  if (atLeast !== undefined && (atLeast < least || atLeast > most)) {
    throw refuse(`whose atLeast is ${atLeast}: ${scores}`);
  }
  if (noWorseBy !== undefined && !(Number.isFinite(noWorseBy) && noWorseBy >= 0)) {
    throw refuse("whose noWorseBy is no number from 0");
  }
  // Differences of decimal numbers are not exact.
  if (noWorseBy !== undefined && noWorseBy > (most - least) * (1 + 1e-9))
    throw refuse(`whose noWorseBy is ${noWorseBy}: ${scores}`);
}

/**
 * Returns every combination of the factors, named by its parts: `cross({ small: { adapter } }, { brief: { overrides } })`
 * makes "small brief". What a later factor gives replaces what an earlier one gave.
 * @throws {DefinitionError} for names of which two combinations come to the same one.
 */
export function cross(
  ...factors: readonly Readonly<Record<string, VariantSettings>>[]
): Readonly<Record<string, VariantSettings>> {
  let all: readonly (readonly [string, VariantSettings])[] = [["", {}]];
  for (const factor of factors) {
    all = all.flatMap(([name, settings]) =>
      Object.entries(factor).map(([part, more]) => [`${name} ${part}`.trim(), { ...settings, ...more }] as const),
    );
  }
  const named = Object.fromEntries(all);
  if (Object.keys(named).length < all.length) {
    const twice = all.find(([name], place) => all.findIndex(([other]) => other === name) !== place)?.[0] ?? "";
    throw new DefinitionError(`Two combinations are called ${JSON.stringify(twice)}: give a factor other names.`);
  }
  return Object.freeze(named);
}
