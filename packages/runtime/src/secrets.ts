// 1. A value that shows no secret stays the very object that it is.
// 2. It never throws: what cannot be looked at is replaced.
// 3. In what takes its place there is no secret, no object of a foreign class, and no way back to the original.
import { DefinitionError } from "@proviso/core";
import { placeBeside, type Side } from "./secrets/cut.ts";
import { escapesIn, readsAs } from "./secrets/escapes.ts";
import { finderOf } from "./secrets/finder.ts";
import { formsOf, replacement } from "./secrets/forms.ts";
import { openPieces, type Pieces } from "./secrets/pieces.ts";
import { searchFor } from "./secrets/search.ts";
import { isObjectOrFunction } from "@proviso/core/internal";
import { classNameOf, entriesOf, kindOf, partsOf, propertiesOf, readError, tagOf, textOf } from "./secrets/shown.ts";

/** Shorter keys are placeholders ("none", "ollama"): hiding them would garble every other word. */
const shortestSecret = 8;

/** Is this the text of a key, and no placeholder for one? */
export function isSecret(key: unknown): key is string {
  return typeof key === "string" && key.trim().length >= shortestSecret;
}

/** Secrets, and what hides them. */
export interface Secrets {
  /** The texts as they were given. */
  readonly texts: readonly string[];
  /** Redacts any value. */
  readonly redact: Redact;
  /** Redacts a text that arrives in pieces. */
  readonly pieces: () => Pieces;
  /** Where a text can be cut instead, so that the cut goes through no secret. */
  readonly beside: (text: string, at: number, side: Side) => number;
}

/** undefined: there are none. @throws {DefinitionError} for a secret that is no text, or a blank one. */
export function openSecrets(given: readonly string[] = []): Secrets | undefined {
  if (!Array.isArray(given)) throw new DefinitionError("The option secrets must be a list of texts.");
  for (const secret of given) {
    if (typeof secret !== "string" || secret.trim() === "") {
      throw new DefinitionError("A secret must be a text, and not blank.");
    }
  }
  return given.length === 0 ? undefined : secretsOf([...given]);
}

const joined = /* @__PURE__ */ new WeakMap<Secrets, WeakMap<Secrets, Secrets>>();

/** The secrets of both; made once for the same two. */
export function joinSecrets(one: Secrets | undefined, other: Secrets | undefined): Secrets | undefined {
  if (one === undefined || other === undefined || one === other) return one ?? other;
  const more = other.texts.filter((text) => !one.texts.includes(text));
  if (more.length === 0) return one;
  let known = joined.get(one);
  if (known === undefined) joined.set(one, (known = new WeakMap()));
  let both = known.get(other);
  if (both === undefined) known.set(other, (both = secretsOf([...one.texts, ...more])));
  return both;
}

/** What it takes to look for them is made when it is needed first. */
function secretsOf(given: readonly string[]): Secrets {
  let made: Omit<Secrets, "texts"> | undefined;
  const make = (): Omit<Secrets, "texts"> => {
    const forms = formsOf(given);
    const isFound = searchFor(forms);
    const escapes = escapesIn(forms);
    const open = finderOf(forms, escapes);
    const pieces = (): Pieces => openPieces(open());
    const clean = (text: string): string => {
      if (!readsAs(text, escapes, isFound)) return text;
      const whole = pieces();
      return whole.add(text) + whole.end();
    };
    const beside: Secrets["beside"] = (...cut) => placeBeside(open(), ...cut);
    return { pieces, beside, redact: valueRedactor(clean, given.some(isNumeric)) };
  };
  return {
    texts: given,
    redact: (value) => (made ??= make()).redact(value),
    pieces: () => (made ??= make()).pieces(),
    beside: (...cut) => (made ??= make()).beside(...cut),
  };
}

function isNumeric(secret: string): boolean {
  return /^\s*-?\d+\s*$/.test(secret);
}

/** Returns the value with every secret in its texts replaced; the same reference where there is none. */
export type Redact = <T>(value: T) => T;

/** Deeper than that an object is not copied: its class's name stands for it. */
const deepestCopy = 400;

/**
 * `clean` takes the secrets out of a text; `numbers`: a secret may be a number, too. Data is copied, keys included; an
 * error becomes an `Error` with its texts and its cause, a collection data of its kind, an object of another class its
 * own properties or its class's name.
 */
export function valueRedactor(clean: (text: string) => string, numbers: boolean): Redact {
  const shows = (value: unknown): boolean => {
    if (typeof value === "string") return clean(value) !== value;
    if (typeof value === "symbol") return shows(value.description ?? "");
    return numbers && (typeof value === "number" || typeof value === "bigint") && shows(String(value));
  };
  return <T>(value: T): T => {
    try {
      return holds(value, shows) ? (rebuild(value, { clean, shows, made: new Map() }, 0) as T) : value;
    } catch {
      return unreadable as T;
    }
  };
}

/** Replaces what throws when it is looked at: it may hold anything. */
const unreadable = "[unreadable]";

type Shows = (value: unknown) => boolean;

/** However deep, in circles too. */
function holds(value: unknown, shows: Shows): boolean {
  if (!isObjectOrFunction(value)) return shows(value);
  const seen = new Set<object>();
  const rest: unknown[] = [value];
  while (rest.length > 0) {
    const next = rest.pop();
    if (!isObjectOrFunction(next)) {
      if (shows(next)) return true;
    } else if (!seen.has(next)) {
      seen.add(next);
      partsOf(next, rest);
    }
  }
  return false;
}

interface Rebuilding {
  readonly clean: (text: string) => string;
  readonly shows: Shows;
  /** What stands in an object's place: each is made once, and circles stay circles. */
  readonly made: Map<object, unknown>;
}

function rebuild(value: unknown, work: Rebuilding, depth: number): unknown {
  if (typeof value === "string") return work.clean(value);
  if (!isObjectOrFunction(value)) return work.shows(value) ? replacement : value;
  if (work.made.has(value)) return work.made.get(value);
  const kind = kindOf(value);
  const isData = kind === "list" || kind === "plain";
  // Data is copied as it is walked; to look for secrets at each step would take the square of its depth.
  if ((depth > deepestCopy || !isData) && !holds(value, work.shows)) return made(value, value, work);
  if (depth > deepestCopy) return made(value, work.clean(`[${classNameOf(value)}]`), work);
  switch (kind) {
    case "list":
      return rebuildList(value as readonly unknown[], work, depth);
    case "plain":
      return rebuildObject(value, work, depth);
    case "error":
      return rebuildError(value as Error, work, depth);
    case "collection":
      return rebuildCollection(value, work, depth);
    case "other":
      return rebuildOther(value, work, depth);
  }
}

function made<T>(original: object, replaced: T, { made: all }: Rebuilding): T {
  all.set(original, replaced);
  return replaced;
}

function rebuildList(list: readonly unknown[], work: Rebuilding, depth: number): unknown {
  const copy = made(list, [] as unknown[], work);
  for (const item of list) copy.push(rebuild(item, work, depth + 1));
  return copy;
}

function rebuildObject(value: object, work: Rebuilding, depth: number): object {
  const copy = made(value, {}, work);
  for (const [key, item] of propertiesOf(value)) {
    if (typeof key === "symbol" && work.shows(key)) continue;
    define(copy, typeof key === "string" ? work.clean(key) : key, rebuild(item, work, depth + 1), true);
  }
  return copy;
}

function rebuildError(error: Error, work: Rebuilding, depth: number): Error {
  const { name, message, stack, cause, errors } = readError(error);
  const shown = made(error, new Error(work.clean(String(message))), work);
  define(shown, "name", work.clean(String(name)));
  define(shown, "stack", work.clean(String(stack ?? message)));
  if (cause !== undefined) define(shown, "cause", rebuild(cause, work, depth + 1));
  if (errors !== undefined) define(shown, "errors", rebuild(errors, work, depth + 1));
  return shown;
}

function rebuildCollection(value: object, work: Rebuilding, depth: number): unknown {
  const tag = tagOf(value);
  const entries = entriesOf(value);
  const each = (item: unknown): unknown => rebuild(item, work, depth + 1);
  if (tag === "Set") {
    const copy = made(value, new Set<unknown>(), work);
    for (const item of entries) copy.add(each(item));
    return copy;
  }
  const pairs = entries as readonly (readonly [unknown, unknown])[];
  if (tag === "Map") {
    const copy = made(value, new Map<unknown, unknown>(), work);
    for (const [key, item] of pairs) copy.set(each(key), each(item));
    return copy;
  }
  const copy = made(value, {}, work);
  for (const [key, item] of pairs) define(copy, String(each(key)), each(item), true);
  return copy;
}

function rebuildOther(value: object, work: Rebuilding, depth: number): unknown {
  const text = textOf(value);
  if (text !== undefined) return made(value, work.clean(text), work);
  const hasProperties = typeof value === "object" && !ArrayBuffer.isView(value) && propertiesOf(value).length > 0;
  return hasProperties ? rebuildObject(value, work, depth) : made(value, work.clean(`[${classNameOf(value)}]`), work);
}

/** Also of keys that could reach a prototype. */
function define(object: object, key: string | symbol, value: unknown, enumerable = false): void {
  Object.defineProperty(object, key, { value, enumerable, writable: true, configurable: true });
}
