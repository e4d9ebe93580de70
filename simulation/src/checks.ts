/** Collects what went wrong and what happened before; the first violation counts. */
export interface Book {
  readonly trace: string[];
  readonly violations: string[];
  note(line: string): void;
  demand(holds: boolean, what: string): void;
  same(actual: unknown, expected: unknown, what: string): void;
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
      const [a, b] = [JSON.stringify(actual), JSON.stringify(expected)];
      demand(a === b, `${what}: ${a} instead of ${b}`);
    },
  };
}
