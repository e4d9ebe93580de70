/** Collects what happened and what must hold and did not. */
export interface Book {
  readonly trace: string[];
  readonly violations: string[];
  note(line: string): void;
  demand(holds: boolean, what: string): void;
  same(actual: readonly string[], expected: readonly string[], what: string): void;
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
      if (actual.length === expected.length && actual.every((item, at) => item === expected[at])) return;
      const at = expected.findIndex((item, index) => item !== actual[index]);
      const from = at === -1 ? expected.length : at;
      const shown = (list: readonly string[]): string => `${list.length} (…, ${list.slice(from, from + 3).join(", ")})`;
      demand(false, `${what}: ${shown(actual)} instead of ${shown(expected)}, from ${from} on`);
    },
  };
}

/** What of a value is no plain JSON; undefined: nothing. Fields that are undefined are passed over. */
export function oddIn(value: unknown, path = "it"): string | undefined {
  if (value === null || value === undefined || typeof value === "string" || typeof value === "boolean")
    return undefined;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${path} is ${value}`;
  if (typeof value !== "object") return `${path} is a ${typeof value}`;
  if (Array.isArray(value)) return firstOdd(value.map((item, at) => [`${path}[${at}]`, item]));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return `${path} is no plain object`;
  return firstOdd(Object.entries(value).map(([key, item]) => [`${path}.${key}`, item]));
}

function firstOdd(items: readonly (readonly [string, unknown])[]): string | undefined {
  for (const [path, item] of items) {
    const odd = oddIn(item, path);
    if (odd !== undefined) return odd;
  }
  return undefined;
}
