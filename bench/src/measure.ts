/** One evaluation, or what stands for one. */
export type Work = () => Promise<unknown>;

/** One line of the table. */
export interface Row {
  readonly what: string;
  /** The figure that counts. */
  readonly ratio: number;
  /** What it is made of, for a reader. */
  readonly detail: string;
  /** "≤ 0.5", as the issue asks; left out: told only. */
  readonly bound?: string | undefined;
}

export function row(what: string, ratio: number, detail: string, bound?: string): Row {
  return { what, ratio, detail, bound };
}

/** Whether a row is within its bound; undefined without one. */
export function isReached({ ratio, bound }: Row): boolean | undefined {
  const [sign, limit] = (bound ?? "").split(" ");
  if (limit === undefined) return undefined;
  return sign === "≤" ? ratio <= Number(limit) : ratio >= Number(limit);
}

interface RaceOptions {
  readonly rounds?: number;
  /** How often each contender works in a round. */
  readonly times: number;
  /** CPU time for which each contender works before anything is measured. Default 500. */
  readonly warmUpMs?: number;
}

/**
 * Median microseconds of CPU time of each contender's work, garbage collection included. They take turns, round after
 * round, so that what else the machine does falls on all of them; each works for the same time before.
 */
export async function race<Name extends string>(
  contenders: Readonly<Record<Name, () => unknown>>,
  { rounds = 9, times, warmUpMs = 500 }: RaceOptions,
): Promise<Record<Name, number>> {
  const names = Object.keys(contenders) as Name[];
  const used = new Map<Name, number>();
  const usedBy = (name: Name): number => used.get(name) ?? 0;
  for (let cold = names; cold.length > 0; cold = names.filter((name) => usedBy(name) < warmUpMs)) {
    for (const name of cold) used.set(name, usedBy(name) + (await cpuTime(contenders[name], times)) / 1_000);
  }
  const samples = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const name of names) samples.get(name)?.push((await cpuTime(contenders[name], times)) / times);
  }
  return Object.fromEntries(names.map((name) => [name, median(samples.get(name) ?? [])])) as Record<Name, number>;
}

/**
 * Microseconds of CPU time that so many evaluations take, with the collection of what they leave in the young generation,
 * and without that of what whoever worked before has left.
 */
async function cpuTime(work: () => unknown, times: number): Promise<number> {
  const { gc } = globalThis as { readonly gc?: (options: { readonly type: "minor" }) => void };
  gc?.({ type: "minor" });
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) {
    const working = work();
    if (working instanceof Promise) await working;
  }
  gc?.({ type: "minor" });
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

export const micros = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} µs`;

export function table(rows: readonly Row[]): string {
  const lines = rows.map((each) => {
    const reached = isReached(each);
    const verdict = reached === undefined ? "" : reached ? "reached" : "**missed**";
    return `| ${each.what} | ${each.ratio.toFixed(2)} | ${each.bound ?? ""} | ${verdict} | ${each.detail} |`;
  });
  return ["| what | ratio | bound | | measured |", "|---|---|---|---|---|", ...lines].join("\n");
}

/** Returns a table that was written before, with these rows in place of those of the same names; new ones come last. */
export function withRows(written: string, rows: readonly Row[]): string {
  const [head = "", line = "", ...before] = written.slice(written.indexOf("| what |")).trimEnd().split("\n");
  const now = new Map(rows.map((each) => [each.what, table([each]).split("\n").at(-1) ?? ""] as const));
  const nameOf = (text: string): string => text.split(" | ")[0]?.replace(/^\| /u, "") ?? "";
  const kept = before.map((text) => now.get(nameOf(text)) ?? text);
  const known = new Set(before.map(nameOf));
  const added = [...now].flatMap(([name, text]) => (known.has(name) ? [] : [text]));
  return [head, line, ...kept, ...added].join("\n");
}
