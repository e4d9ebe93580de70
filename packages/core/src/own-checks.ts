/** Functions that a schema's author wrote: 0, there are none; 1, there are some; 2, at least one is `async`. */
type OwnChecks = 0 | 1 | 2;

const known = new WeakMap<object, OwnChecks>();

/**
 * Whether a schema of zod has checks or transforms of its author's own, which may be asynchronous. Looked for once in each
 * schema; of all other libraries there are none. Source: `_zod.def` of zod 4, as its guide for library authors has it.
 */
export function ownChecksOf(schema: object): OwnChecks {
  let found = known.get(schema);
  if (found === undefined) known.set(schema, (found = findIn(schema, new Set())));
  return found;
}

/** What is read of a schema, and of a check. */
interface ZodNode {
  readonly _zod?: {
    readonly check?: unknown;
    readonly def: {
      readonly type?: string;
      readonly check?: string;
      readonly fn?: unknown;
      readonly transform?: unknown;
      readonly getter?: () => unknown;
    };
  };
}

function findIn(node: unknown, seen: Set<object>): OwnChecks {
  const zod = (node as ZodNode | null | undefined)?._zod;
  if (zod === undefined || seen.has(zod)) return 0;
  seen.add(zod);
  const { check, def } = zod;
  const { type, fn, transform, getter } = def;
  const isOwn = /custom|transform|promise/.test(`${type} ${def.check}`) || transform !== undefined;
  let found: OwnChecks = !isOwn ? 0 : [fn, transform, check].some(isAsync) ? 2 : 1;
  for (const part of [getter?.(), ...Object.values(def)] as readonly unknown[]) {
    for (const each of [part, ...Object.values(part ?? {})]) found = Math.max(found, findIn(each, seen)) as OwnChecks;
  }
  return found;
}

const isAsync = (value: unknown): boolean => value?.constructor.name === "AsyncFunction";

/**
 * zod's `validate` tries synchronously first. Where a check returns a promise it drops that promise and begins anew, and
 * where the promise rejects, nothing handles it, which ends a Node process. So what may be asynchronous is asked for that.
 */
export async function awaited(schema: object, value: unknown): Promise<unknown> {
  const zod = schema as { safeParseAsync(value: unknown): Promise<{ data?: unknown; error?: unknown }> };
  const { data, error } = await zod.safeParseAsync(value);
  return error ?? { value: data };
}
