// What a simulated run is checked with.
import { memoryBlobs } from "@proviso/runtime";
import { secret, type Shape } from "./shape.ts";

export interface RunOutcome {
  readonly seed: number;
  /** What was not as it has to be; the first word is the rule. */
  readonly violations: readonly string[];
  /** What happened, for who looks for a fault. */
  readonly trace: readonly string[];
  /** How many events were compared. */
  readonly events: number;
  /** How many replays there were. */
  readonly replays: number;
}

/** What was found wrong with the run of a seed, and what happened. */
export class Checked {
  readonly blobs = memoryBlobs();
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  events = 0;
  replays = 0;
  readonly shape: Shape;
  constructor(shape: Shape) {
    this.shape = shape;
  }

  same(rule: string, recorded: unknown, now: unknown): void {
    // What a record hides, a replay cannot show.
    const [before, after] = [textOf(recorded), textOf(now)].map((text) => text.replaceAll(secret, "[secret]")) as [
      string,
      string,
    ];
    if (before === after) return;
    let at = 0;
    while (before[at] === after[at]) at++;
    const around = (text: string): string => text.slice(Math.max(0, at - 120), at + 160);
    this.violations.push(`${rule} was …${around(before)}… and is …${around(after)}…`);
  }
  not(rule: string, what: unknown): void {
    this.violations.push(`${rule} ${textOf(what)}`);
  }
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "undefined");
}

export async function listed<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}
