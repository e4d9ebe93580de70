// What a value shows when it is printed, written as JSON or made a text: all that may give a secret away.

/** Classes whose contents are no properties; by name, because there is more than one of each. */
const collections: ReadonlySet<string> = new Set(["Map", "Set", "Headers", "URLSearchParams", "FormData"]);
const messages: ReadonlySet<string> = new Set(["Request", "Response"]);
/** What they show is numbers. */
const harmless: ReadonlySet<string> = new Set(["Date", "Promise", "WeakMap", "WeakSet", "WeakRef"]);
const customInspect = Symbol.for("nodejs.util.inspect.custom");

export type Kind = "list" | "plain" | "error" | "collection" | "other";

/** A proxy that was revoked is of no kind. */
export function kindOf(value: object): Kind {
  return attempt(() => readKind(value)) ?? "other";
}

function readKind(value: object): Kind {
  if (Array.isArray(value)) return "list";
  if (value instanceof Error) return "error";
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return "plain";
  return collections.has(tagOf(value)) ? "collection" : "other";
}

/** Returns the name of a built-in class, also for objects of other realms. */
export function tagOf(value: object): string {
  return attempt(() => Object.prototype.toString.call(value).slice(8, -1)) ?? "";
}

export function classNameOf(value: object): string {
  const name: unknown = attempt(() => (value.constructor as { readonly name?: unknown } | undefined)?.name);
  return typeof name === "string" && name !== "" ? name : "Object";
}

/** Entries of a collection: pairs, or single values. */
export function entriesOf(value: object): readonly unknown[] {
  return attempt(() => [...(value as Iterable<unknown>)]) ?? [];
}

/** Names and values of the properties that are shown, symbols among them; one that cannot be read shows nothing. */
export function propertiesOf(value: object): readonly (readonly [string | symbol, unknown])[] {
  const keys = attempt(() => Reflect.ownKeys(value)) ?? [];
  return keys
    .filter((key) => attempt(() => Object.prototype.propertyIsEnumerable.call(value, key)) === true)
    .map((key) => [key, read(value, key)] as const);
}

/** What is a text in all but name. */
export function textOf(value: object): string | undefined {
  return ["URL", "String"].includes(tagOf(value))
    ? attempt(() => (value as { toString(): string }).toString())
    : undefined;
}

/** Adds all that an object or a function shows, its properties' names included. */
export function partsOf(value: object, into: unknown[]): void {
  if (ArrayBuffer.isView(value)) {
    into.push(
      attempt(() => new TextDecoder().decode(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))),
    );
    return;
  }
  const kind = kindOf(value);
  if (kind === "list") for (const item of value as readonly unknown[]) into.push(item);
  else if (kind !== "plain" || !addPlain(value, into)) {
    for (const property of propertiesOf(value)) into.push(...property);
  }
  switch (kind) {
    case "error": {
      const { name, message, stack, cause, errors } = readError(value as Error);
      into.push(name, message, stack, cause, errors);
      break;
    }
    case "collection":
      for (const entry of entriesOf(value)) into.push(entry);
      break;
    case "other":
      into.push(...ownWordsOf(value));
      break;
    case "list":
    case "plain":
  }
}

/** The common case, without a closure for each property; false where one throws, or has a symbol for its name. */
function addPlain(value: object, into: unknown[]): boolean {
  try {
    for (const key of Object.keys(value)) into.push(key, (value as Record<string, unknown>)[key]);
    return Object.getOwnPropertySymbols(value).length === 0;
  } catch {
    return false;
  }
}

/** What an object of a class says of itself. */
function ownWordsOf(value: object): readonly unknown[] {
  const tag = tagOf(value);
  if (harmless.has(tag)) return [];
  if (typeof value === "function") return [attempt(() => value.name)];
  if (tag === "ArrayBuffer") return [attempt(() => new TextDecoder().decode(value as ArrayBuffer))];
  if (messages.has(tag)) return [read(value, "url"), read(value, "headers")];
  const [toJSON, toString, inspected] = ["toJSON", "toString", customInspect].map((name) => read(value, name));
  return [
    typeof toJSON === "function" ? attempt(() => toJSON.call(value)) : undefined,
    typeof toString === "function" && toString !== Object.prototype.toString
      ? attempt(() => toString.call(value))
      : undefined,
    typeof inspected === "function" ? attempt(() => inspected.call(value, 2, { stylize: String }, String)) : undefined,
  ];
}

export function readError(error: Error): {
  readonly name: unknown;
  readonly message: unknown;
  readonly stack: unknown;
  readonly cause: unknown;
  readonly errors: unknown;
} {
  return {
    name: read(error, "name"),
    message: read(error, "message"),
    stack: read(error, "stack"),
    cause: read(error, "cause"),
    errors: error instanceof AggregateError ? read(error, "errors") : undefined,
  };
}

function read(value: object, name: string | symbol): unknown {
  return attempt(() => (value as Record<string | symbol, unknown>)[name]);
}

/** What throws shows nothing. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
