/** What a schema's author wrote as functions: nothing, functions, or functions of which at least one is `async`. */
export type OwnChecks = "none" | "some" | "async";

const known = new WeakMap<object, OwnChecks>();

/**
 * Whether a schema of zod has checks or transforms of its author's own, which may be asynchronous. Looked for once in each
 * schema; of all other libraries "none". Source: `_zod.def` of zod 4, as its guide for library authors describes it.
 */
export function ownChecksOf(schema: object): OwnChecks {
  const before = known.get(schema);
  if (before !== undefined) return before;
  let found: OwnChecks = "none";
  try {
    found = findIn(schema, new Set());
  } catch {
    // A getter of a shape, or a lazy schema, that throws does so again where the schema is used.
  }
  known.set(schema, found);
  return found;
}

interface Definition {
  readonly type?: unknown;
  readonly check?: unknown;
  readonly fn?: unknown;
  readonly getter?: unknown;
  readonly transform?: unknown;
}

function findIn(node: unknown, seen: Set<object>): OwnChecks {
  const internals = internalsOf(node);
  if (internals === undefined || seen.has(internals.def)) return "none";
  const { def, check } = internals;
  seen.add(def);
  let found = ofFunctions(def, check);
  const inner: readonly unknown[] = def.type === "lazy" ? [(def.getter as () => unknown)()] : Object.values(def);
  for (const part of inner) {
    const nodes = internalsOf(part) !== undefined ? [part] : isObject(part) ? Object.values(part) : [];
    for (const each of nodes) found = both(found, findIn(each, seen));
  }
  return found;
}

function ofFunctions(def: Definition, check: unknown): OwnChecks {
  const { type, fn, transform } = def;
  if (type === "promise") return "async";
  const isOwn = type === "custom" || def.check === "custom" || type === "transform" || typeof transform === "function";
  if (!isOwn) return "none";
  return [fn, transform, check].some(isAsync) ? "async" : "some";
}

function both(one: OwnChecks, other: OwnChecks): OwnChecks {
  if (one === "async" || other === "async") return "async";
  return one === "none" ? other : one;
}

function isAsync(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object AsyncFunction]";
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

function internalsOf(node: unknown): { readonly def: Definition; readonly check: unknown } | undefined {
  if (!isObject(node) && typeof node !== "function") return undefined;
  const internals = (node as { readonly _zod?: unknown })._zod;
  if (!isObject(internals)) return undefined;
  const { def = {}, check } = internals as { readonly def?: unknown; readonly check?: unknown };
  return isObject(def) ? { def, check } : undefined;
}
