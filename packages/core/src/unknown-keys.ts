// 1. A key that is still there in the validated value was accepted by the schema: only what validation dropped is refused.
// 2. A dropped key is refused where the JSON Schema does not know it and both the given and the validated value are plain
//    objects. Where a transform made something else of the object (an instance, other keys, a list of another length) it
//    cannot be decided what was dropped: nothing is refused, unless the library's JSON Schema decides it.
// 3. Where a place of the schema has a union, each part of the value is counted once: the work grows with the value.
import { isNonNullObject, isPlain } from "./values.ts";
import type { JsonSchema } from "./json-schema.ts";
import { anywhere, knownKeys, type KnownKeys, type Objects, type Place } from "./known-keys.ts";

/** Keys that are refused, each with the keys above it: the first of them, and how many there are in all. */
export interface UnknownKeys {
  readonly paths: readonly (readonly string[])[];
  readonly count: number;
}

export interface Comparison {
  readonly schema: JsonSchema;
  /**
   * Whether the schema's JSON Schema says of every object if it takes further keys: it decides where nothing else can.
   */
  readonly isExact: boolean;
  /** Paths that are collected at the most. */
  readonly most: number;
}

/** How well a part of the schema explains what became of a part of the value. */
interface Tally {
  /** Keys whose fate it cannot explain: validation took another branch of the union. */
  unexplained: number;
  refused: number;
}
interface Remembered extends Tally {
  readonly place: Place;
  readonly made: unknown;
  readonly next: Remembered | undefined;
}

/** What is found at one object or list. */
interface Visitor {
  refused(key: string): void;
  below(key: string | number, place: Place, item: object, made: unknown): void;
}

/** A path, the last key first: it is written out only where a key is refused. */
interface Path {
  readonly key: string | number;
  readonly above: Path | undefined;
}

/** Stands for a validated value that is not known. */
export const notValidated: unique symbol = Symbol("not validated");

/** The keys that validation dropped because the schema does not know them. */
export function unknownKeysIn({ schema, isExact, most }: Comparison, given: unknown, validated: unknown): UnknownKeys {
  const keys = knownKeys(schema);
  const remembered = new Map<object, Remembered>();
  const lookedAt = lookingOnce(keys, isExact);

  const count = (place: Place, item: object, made: unknown, into: Tally): void => {
    // The very same object: nothing of it was dropped.
    if (made === item) return;
    const tally = place.unions.length === 0 ? countHere(place, item, made, into) : tallyOf(place, item, made);
    if (tally === into) return;
    into.unexplained += tally.unexplained;
    into.refused += tally.refused;
  };
  const countHere = (place: Place, item: object, made: unknown, into: Tally): Tally => {
    const own = visit(place, item, made, {
      refused: () => void (into.refused += 1),
      below: (_, inner, below, then) => count(inner, below, then, into),
    });
    into.unexplained += own;
    return into;
  };
  const tallyOf = (place: Place, item: object, made: unknown): Tally => {
    const first = remembered.get(item);
    for (let at = first; at !== undefined; at = at.next) if (at.place === place && at.made === made) return at;
    // A branch that leads back to its own union adds nothing to the other branches.
    const tally: Remembered = { place, made, next: first, unexplained: 0, refused: 0 };
    remembered.set(item, tally);
    const { unexplained, refused } = countHere(place, item, made, { unexplained: 0, refused: 0 });
    return Object.assign(tally, { unexplained, refused });
  };

  const visit = (place: Place, item: object, made: unknown, visitor: Visitor): number => {
    const objects = objectsOf(place, (union) => bestOf(keys.branches(union, item), item, made));
    if (Array.isArray(item)) return visitItems(keys, objects, item, { made, visitor });
    const given = item as Readonly<Record<string, unknown>>;
    return visitKeys(keys, objects, given, { made, visitor, looked: lookedAt(objects, given, made) });
  };
  /** Picks the branch of a union that explains most, then the one that refuses least. */
  const bestOf = ([first = anywhere, ...others]: readonly Place[], item: object, made: unknown): Place => {
    if (others.length === 0) return first;
    let [best, tally] = [first, tallyOf(first, item, made)];
    for (const place of others) {
      const other = tallyOf(place, item, made);
      if (isBetter(other, tally)) [best, tally] = [place, other];
    }
    return best;
  };

  const paths: (readonly string[])[] = [];
  const collect = (place: Place, item: object, made: unknown, above: Path | undefined): void => {
    if (paths.length >= most || made === item) return;
    visit(place, item, made, {
      refused: (key) => void (paths.length < most && paths.push(keysOf({ key, above }))),
      below: (key, inner, below, then) => collect(inner, below, then, { key, above }),
    });
  };

  const all: Tally = { unexplained: 0, refused: 0 };
  if (isNonNullObject(given)) count(keys.root, given, validated, all);
  if (isNonNullObject(given) && all.refused > 0) collect(keys.root, given, validated, undefined);
  return { paths, count: all.refused };
}

/** A place with one branch of each of its unions, and of theirs. */
function objectsOf(place: Place, choose: (union: readonly unknown[]) => Place): Objects {
  if (place.unions.length === 0) return place.objects;
  const objects = new Set<Objects[number]>();
  const seen = new Set<Place>();
  const saysSomething = (at: Place): boolean => {
    if (at === anywhere) return false;
    if (seen.has(at)) return true;
    seen.add(at);
    for (const each of at.objects) objects.add(each);
    return at.unions.every((union) => saysSomething(choose(union)));
  };
  return saysSomething(place) ? [...objects] : [];
}

function visitItems(
  keys: KnownKeys,
  objects: Objects,
  items: readonly unknown[],
  { made, visitor }: { readonly made: unknown; readonly visitor: Visitor },
): number {
  const after = Array.isArray(made) && made.length === items.length ? (made as readonly unknown[]) : undefined;
  const placeAt = keys.items(objects);
  for (const [index, item] of items.entries()) {
    if (isNonNullObject(item))
      visitor.below(index, placeAt(index), item, after === undefined ? notValidated : after[index]);
  }
  return 0;
}

/** What became of an object's own keys. */
interface Looked {
  readonly objects: Objects;
  readonly made: unknown;
  /** How many of the keys are not explained. */
  readonly unexplained: number;
  /** The keys in their order: those that were dropped, and those whose value has keys of its own. */
  readonly found: readonly string[];
  readonly isDropped: readonly boolean[];
  /** Whether what was dropped is refused. */
  readonly isDecided: boolean;
}

type Look = (objects: Objects, given: Readonly<Record<string, unknown>>, made: unknown) => Looked;

/** Each object is looked at once, though it is counted first and collected then: it may have very many keys. */
function lookingOnce(keys: KnownKeys, isExact: boolean): Look {
  const looks = new Map<object, Looked>();
  return (objects, given, made) => {
    const before = looks.get(given);
    if (before !== undefined && before.objects === objects && before.made === made) return before;
    const looked = lookAtKeys(keys, objects, given, { made, isExact });
    looks.set(given, looked);
    return looked;
  };
}

function lookAtKeys(
  keys: KnownKeys,
  objects: Objects,
  given: Readonly<Record<string, unknown>>,
  { made, isExact }: { readonly made: unknown; readonly isExact: boolean },
): Looked {
  const after = isPlain(made) ? made : undefined;
  const [found, isDropped]: [string[], boolean[]] = [[], []];
  let [unexplained, isComparable, isPreprocessed] = [0, after !== undefined, false];
  for (const key of Object.keys(given)) {
    const knows = keys.knows(objects, key);
    const isKept = after !== undefined && Object.hasOwn(after, key);
    if (knows === "no" ? !isKept : isNonNullObject(given[key])) {
      found.push(key);
      isDropped.push(knows === "no");
    }
    if (after === undefined) continue;
    // What is not named stays when an object is open, and goes when it is not. What is named can get another name.
    if ((knows === "no" && isKept) || (knows === "open" && !isKept)) unexplained += 1;
    if (knows === "named" && !isKept) isComparable = false;
  }
  for (const key of after === undefined ? [] : Object.keys(after)) {
    if (Object.hasOwn(given, key)) continue;
    // What was required and not given was made of other keys, before the schema looked.
    if (objects.some(({ required }) => required.has(key))) isPreprocessed = true;
    if (keys.knows(objects, key) !== "no") continue;
    unexplained += 1;
    isComparable = false;
  }
  const isDecided = !isPreprocessed && (isComparable || isExact);
  return { objects, made, unexplained, found, isDropped, isDecided };
}

/** Answers how many of an object's keys are not explained. */
function visitKeys(
  keys: KnownKeys,
  objects: Objects,
  given: Readonly<Record<string, unknown>>,
  { made, looked, visitor }: { readonly made: unknown; readonly looked: Looked; readonly visitor: Visitor },
): number {
  const after = isPlain(made) ? made : undefined;
  const { found, isDropped, isDecided } = looked;
  for (const [index, key] of found.entries()) {
    if (isDropped[index] === true) {
      if (isDecided) visitor.refused(key);
      continue;
    }
    const then = after !== undefined && Object.hasOwn(after, key) ? after[key] : notValidated;
    visitor.below(key, keys.below(objects, key), given[key] as object, then);
  }
  return looked.unexplained;
}

function isBetter(a: Tally, b: Tally): boolean {
  return a.unexplained === b.unexplained ? a.refused < b.refused : a.unexplained < b.unexplained;
}

function keysOf(path: Path): readonly string[] {
  const keys: string[] = [];
  for (let at: Path | undefined = path; at !== undefined; at = at.above) keys.push(String(at.key));
  return keys.toReversed();
}
