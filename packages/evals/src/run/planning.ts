// The attempts of a run, in order, each with the hash of what its model is shown first.
import type { Message, Prompt, PromptOverride, RenderedPrompt } from "@proviso/core";
import { contentHash, isPlatformFile } from "@proviso/core/internal";
import { internalsOf } from "@proviso/runtime/internal";
import { bounded, Unsettled, type Bounds } from "../bounded.ts";
import { fileContent } from "../data/row-hash.ts";
import type { NamedRow } from "../data/rows.ts";
import type { AnyDefinition, ReadyVariant } from "../define/define-eval.ts";
import type { AttemptKey, Fingerprint } from "../results.ts";
import type { PlannedAttempt } from "./attempt.ts";

/** The override that a variant has of a template, as it stands when the run begins. */
type ResolvedOverrides = Map<object, PromptOverride | undefined>;

/** Plans every attempt: all of a row's come before the next row's. */
export async function plannedAttempts(
  definition: AnyDefinition,
  rows: readonly NamedRow<object>[],
  variants: readonly ReadyVariant[],
  fingerprint: Fingerprint,
  bounds: Bounds,
): Promise<readonly PlannedAttempt[]> {
  const sides = variants.map((of) => {
    return { of, hash: fingerprint.variants[of.name] ?? "", resolved: new Map() as ResolvedOverrides };
  });
  const repetitions = Array.from({ length: definition.repetitions ?? 1 }, (_, at) => at + 1);
  const planned: PlannedAttempt[] = [];
  for (const row of rows) {
    const given = givenOf(definition, row.row);
    for (const { of, hash, resolved } of sides) {
      const prompt = "prompt" in of.subject ? promptOf(of.subject.prompt, row.row) : undefined;
      if (prompt !== undefined && of.settings.overrides !== undefined) await resolve(of, prompt, resolved, bounds);
      const subjectHash = await subjectHashOf(hash, { of, row, shown: prompt, resolved, given, bounds });
      for (const repetition of repetitions) {
        const place = planned.length;
        planned.push({ place, row, of, prompt, rowId: row.id, variant: of.name, repetition, subjectHash });
      }
    }
  }
  return planned;
}

/** The part of a planned attempt that names it. */
export function keyFields({ rowId, variant, repetition }: PlannedAttempt): AttemptKey {
  return { rowId, variant, repetition };
}

/** undefined: a prompt that cannot be bound fails when it is evaluated. */
function promptOf(prompt: (row: object) => Prompt, row: object): Prompt | undefined {
  try {
    return prompt(row);
  } catch {
    return undefined;
  }
}

/**
 * Looks a template's override up once in a run. An abort ends that: then nothing is asked.
 * @throws {Unsettled} for a store that does not settle in time: what is kept could not be known by its hash.
 */
async function resolve(
  of: ReadyVariant,
  { template }: Prompt,
  resolved: ResolvedOverrides,
  bounds: Bounds,
): Promise<void> {
  const { overrides } = of.settings;
  const { descriptor } = template;
  if (overrides === undefined || resolved.has(descriptor)) return;
  // A store that cannot be read fails the evaluation, which says why.
  const finding = overrides.store.resolve(descriptor, overrides.tag ?? "latest").catch(() => undefined);
  resolved.set(descriptor, await bounded(finding, bounds).catch((error: unknown) => unlessLate(error, of)));
}

function unlessLate(error: unknown, { name }: ReadyVariant): undefined {
  if (error instanceof Unsettled && error.why === "aborted") return undefined;
  throw new Unsettled("late", `The store of overrides of the variant "${name}": ${(error as Error).message}`);
}

/** Hashes of what all rows share: most evals have one template, and a row for each of its prompts. */
const sharedHashes = new WeakMap<object, string>();

function sharedHash(shared: object): string {
  let hash = sharedHashes.get(shared);
  if (hash === undefined) sharedHashes.set(shared, (hash = contentHash(shared)));
  return hash;
}

interface Subject {
  readonly of: ReadyVariant;
  readonly row: NamedRow<object>;
  /** undefined: a task, or a prompt that cannot be bound. */
  readonly shown: Prompt | undefined;
  readonly resolved: ResolvedOverrides;
  readonly given: readonly unknown[];
  readonly bounds: Bounds;
}

/**
 * What the definition gives an attempt beside its prompt: the earlier turns, and the source text of the functions that make
 * its session and resources. Empty where it gives nothing.
 */
function givenOf({ messages, session, resources }: AnyDefinition, row: object): readonly unknown[] {
  if (messages === undefined && session === undefined && resources === undefined) return nothingGiven;
  return [messages && turnsOf(messages, row), session && String(session), resources && String(resources)];
}

const nothingGiven: readonly unknown[] = Object.freeze([]);

/** What cannot be made or hashed fails when it is evaluated. */
function turnsOf(messages: (row: object) => readonly Message[], row: object): string {
  try {
    return contentHash(messages(row));
  } catch {
    return String(messages);
  }
}

/**
 * The hash of what a variant is, and of what it shows the model first for this row.
 * @throws {Unsettled} for a file of the prompt whose bytes do not come in time.
 */
async function subjectHashOf(
  variantHash: string,
  { of, row, shown, resolved, given, bounds }: Subject,
): Promise<string> {
  if ("task" in of.subject) return contentHash([variantHash, String(of.subject.task), ...given]);
  const unshown = [variantHash, row.hash, ...given];
  if (shown === undefined) return contentHash(unshown);
  const { descriptor } = shown.template;
  const overrides = resolved.get(descriptor);
  const isNative = internalsOf(of.adapter)?.facts.nativeOutput === true;
  try {
    const rendered = shown.render({ overrides, outputInstructions: isNative ? undefined : true });
    const showing = shownIn(rendered, isNative);
    const read = rendered.files === undefined ? showing : bounded(showing, bounds);
    const shows = [variantHash, await read, sharedHash(descriptor), ...given];
    return contentHash(overrides === undefined ? shows : [...shows, overrides.sections, overrides.tools]);
  } catch (error) {
    if (error instanceof Unsettled && error.why === "late") {
      throw new Unsettled("late", `A file of the prompt of the row "${row.id}": ${error.message}`);
    }
    // A prompt that cannot be rendered fails when it is evaluated.
    return contentHash(unshown);
  }
}

type Placed = NonNullable<RenderedPrompt["files"]>[number];

/** What a model is shown first, and what its answer has to be. */
async function shownIn(rendered: RenderedPrompt, isNative: boolean): Promise<readonly unknown[]> {
  const { system, user, tools, providerTools, output, files = [] } = rendered;
  const offered = [...tools, ...providerTools].map(({ name }) => name);
  const wanted = output && [isNative, output.container, sharedHash(output.jsonSchema)];
  return [system, user, offered, wanted, files.length === 0 ? [] : await Promise.all(files.map(placedContent))];
}

async function placedContent({ at, file }: Placed): Promise<readonly unknown[]> {
  return [at, isPlatformFile(file) ? await fileContent(file) : file];
}
