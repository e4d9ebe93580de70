/** Collects what happened and what must hold and did not. */
export interface Book {
  readonly trace: string[];
  readonly violations: string[];
  note(line: string): void;
  demand(holds: boolean, what: string): void;
  same(actual: readonly string[], expected: readonly string[], what: string): void;
}

export function isSame(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  // States are frozen, and V8 runs `every` over a frozen list many times slower than a loop.
  let at = 0;
  for (const item of a) if (item !== b[at++]) return false;
  return true;
}

export function openBook(): Book {
  const trace: string[] = [];
  const violations: string[] = [];
  const demand = (holds: boolean, what: string): void => {
    if (holds) return;
    violations.push(what);
    trace.push(`VIOLATION ${what}`);
  };
  return {
    trace,
    violations,
    note: (line) => void trace.push(line),
    demand,
    same(actual, expected, what) {
      if (isSame(actual, expected)) return;
      const at = expected.findIndex((item, index) => item !== actual[index]);
      const from = at === -1 ? expected.length : at;
      const shown = (list: readonly string[]): string => `${list.length} (…, ${list.slice(from, from + 3).join(", ")})`;
      demand(false, `${what}: ${shown(actual)} instead of ${shown(expected)}, from ${from} on`);
    },
  };
}

/** Where in a value something is no plain JSON, and what it is; undefined: nothing. Fields that are undefined are passed over. */
export function oddIn(value: unknown): string | undefined {
  if (typeof value === "string" || typeof value === "boolean" || value === undefined || value === null)
    return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : ` is ${value}`;
  if (typeof value !== "object") return ` is a ${typeof value}`;
  const isList = Array.isArray(value);
  const prototype: unknown = isList ? null : Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return " is no plain object";
  for (const key of Object.keys(value)) {
    const odd = oddIn((value as Record<string, unknown>)[key]);
    if (odd !== undefined) return `.${key}${odd}`;
  }
  return undefined;
}
