// 1. A key that is still there in the validated value was accepted by the schema: only what validation dropped is refused.
// 2. A dropped key is refused where the JSON Schema does not know it and both the given and the validated value are plain
//    objects. Where a transform made something else of the object (an instance, other keys, a list of another length) it
//    cannot be decided what was dropped: nothing is refused, unless the library's JSON Schema tells.
// 3. Each part of the value meets each part of the schema once: the work grows with the value, and not faster.
import { isRecord } from "./is-record.ts";
import type { JsonSchema } from "./json-schema.ts";
import { anywhere, knownKeys, type KnownKeys, type Objects, type Place } from "./known-keys.ts";

/** What validation made of a value; undefined where that is not known. */
export type Validated = { readonly value: unknown } | undefined;

/** Keys that are refused, each with the keys above it: the first of them, and how many there are in all. */
export interface UnknownKeys {
  readonly paths: readonly (readonly string[])[];
  readonly count: number;
}

export interface Comparison {
  readonly schema: JsonSchema;
  /** Its JSON Schema says of every object whether it takes further keys: it decides where nothing else can. */
  readonly isExact: boolean;
  /** Paths that are collected at the most. */
  readonly most: number;
}

/** How well a part of the schema explains what became of a part of the value. */
interface Tally {
  /** Keys whose fate it cannot explain: validation took another branch of the union. */
  readonly unexplained: number;
  readonly refused: number;
}
const nothing: Tally = { unexplained: 0, refused: 0 };

/** A key with what stands below it. */
interface Below {
  readonly place: Place;
  readonly item: unknown;
  readonly made: Validated;
}
interface Looked extends Tally {
  readonly refusedKeys: ReadonlySet<string>;
  readonly below: ReadonlyMap<string, Below>;
}

/** A path, the last key first: it is written out only where a key is refused. */
interface Path {
  readonly key: string;
  readonly above: Path | undefined;
}

/** The keys that validation dropped because the schema does not know them. */
export function unknownKeysIn({ schema, isExact, most }: Comparison, given: unknown, made: Validated): UnknownKeys {
  const keys = knownKeys(schema);
  const tallies = new Map<object, Map<Place, { readonly made: unknown; tally: Tally }>>();

  const tallyOf = ({ place, item, made: then }: Below): Tally => {
    // The very same object: nothing of it was dropped.
    if (!isObject(item) || (then !== undefined && then.value === item)) return nothing;
    let ofItem = tallies.get(item);
    if (ofItem === undefined) tallies.set(item, (ofItem = new Map()));
    const seen = ofItem.get(place);
    if (seen !== undefined && seen.made === then?.value) return seen.tally;
    // A branch that leads back to its own union says no more than the other branches do.
    const entry = { made: then?.value, tally: nothing };
    ofItem.set(place, entry);
    const { unexplained, refused, below } = look(place, item, then);
    entry.tally = { unexplained, refused };
    for (const each of below.values()) entry.tally = sum(entry.tally, tallyOf(each));
    return entry.tally;
  };

  const look = (place: Place, item: object, then: Validated): Looked => {
    const objects = objectsOf(place, (union) => bestOf(keys.branches(union, item), item, then));
    if (Array.isArray(item)) return lookAtItems(keys, objects, item, then);
    return lookAtKeys(keys, objects, item as Readonly<Record<string, unknown>>, { made: then, isExact });
  };

  /** Of a union's branches the one that explains most, then the one that refuses least. */
  const bestOf = ([first, ...others]: readonly Place[], item: object, then: Validated): Place => {
    let best = first ?? anywhere;
    for (const place of others) {
      if (isBetter(tallyOf({ place, item, made: then }), tallyOf({ place: best, item, made: then }))) best = place;
    }
    return best;
  };

  const paths: (readonly string[])[] = [];
  const collect = (at: Below, above: Path | undefined): void => {
    if (paths.length >= most || tallyOf(at).refused === 0) return;
    const { refusedKeys, below } = look(at.place, at.item as object, at.made);
    for (const key of Object.keys(at.item as object)) {
      if (paths.length >= most) return;
      const path = { key, above };
      if (refusedKeys.has(key)) paths.push(keysOf(path));
      const inner = below.get(key);
      if (inner !== undefined) collect(inner, path);
    }
  };

  const whole = { place: keys.root, item: given, made };
  collect(whole, undefined);
  return { paths, count: tallyOf(whole).refused };
}

/** A place with one branch of each of its unions, and of theirs. */
function objectsOf(place: Place, choose: (union: readonly unknown[]) => Place): Objects {
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

function lookAtItems(keys: KnownKeys, objects: Objects, items: readonly unknown[], made: Validated): Looked {
  const after = made?.value;
  const isSameList = Array.isArray(after) && after.length === items.length;
  const below = new Map<string, Below>();
  for (const [index, item] of items.entries()) {
    if (!isObject(item)) continue;
    const then = isSameList ? { value: after[index] as unknown } : undefined;
    below.set(String(index), { place: keys.item(objects, index), item, made: then });
  }
  return { ...nothing, refusedKeys: new Set(), below };
}

/** What became of an object's own keys. */
function lookAtKeys(
  keys: KnownKeys,
  objects: Objects,
  given: Readonly<Record<string, unknown>>,
  { made, isExact }: { readonly made: Validated; readonly isExact: boolean },
): Looked {
  const after = isPlainObject(made?.value) ? made.value : undefined;
  const dropped = new Set<string>();
  const below = new Map<string, Below>();
  let [unexplained, isComparable, isPreprocessed] = [0, after !== undefined, false];
  for (const key of Object.keys(given)) {
    const { knows, place } = keys.child(objects, key);
    const isKept = after !== undefined && Object.hasOwn(after, key);
    if (knows === "no" && !isKept) dropped.add(key);
    if (after !== undefined) {
      // What is not named stays when an object is open, and goes when it is not. What is named can get another name.
      if ((knows === "no" && isKept) || (knows === "open" && !isKept)) unexplained += 1;
      if (knows === "named" && !isKept) isComparable = false;
    }
    if (knows === "no" || !isObject(given[key])) continue;
    below.set(key, { place, item: given[key], made: isKept ? { value: after[key] } : undefined });
  }
  for (const key of Object.keys(after ?? {})) {
    if (Object.hasOwn(given, key)) continue;
    // What was required and not given was made of other keys, before the schema looked.
    if (objects.some(({ required }) => required.has(key))) isPreprocessed = true;
    if (keys.child(objects, key).knows !== "no") continue;
    unexplained += 1;
    isComparable = false;
  }
  const refusedKeys = !isPreprocessed && (isComparable || isExact) ? dropped : new Set<string>();
  return { unexplained, refused: refusedKeys.size, refusedKeys, below };
}

function sum(a: Tally, b: Tally): Tally {
  return { unexplained: a.unexplained + b.unexplained, refused: a.refused + b.refused };
}

function isBetter(a: Tally, b: Tally): boolean {
  return a.unexplained === b.unexplained ? a.refused < b.refused : a.unexplained < b.unexplained;
}

function keysOf(path: Path): readonly string[] {
  const keys: string[] = [];
  for (let at: Path | undefined = path; at !== undefined; at = at.above) keys.push(at.key);
  return keys.toReversed();
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
