// A run that processes, limits and decisions interrupt: plain data from a seed.
import { randomFrom, type Random } from "../random.ts";

/** What a call of each kind is, and does. */
export interface Kind {
  readonly readOnly?: true;
  readonly idempotent?: true;
  readonly transactional?: true;
  /** It uses nothing, so that it overlaps with others of its kind. */
  readonly overlaps?: true;
  /** It can be asked what became of it. */
  readonly reconciles?: true;
  readonly notes?: true;
  readonly writes?: true;
  /** It evaluates, with calls inside. */
  readonly evaluates?: true;
  /** A policy lets it wait for a decision. */
  readonly waits?: true;
}

/** The kinds of calls, by the name of the tool. */
export const kinds = {
  read: { readOnly: true },
  send: { overlaps: true },
  put: { overlaps: true, idempotent: true },
  note: { overlaps: true, transactional: true, notes: true },
  found: { overlaps: true, reconciles: true },
  ask: { overlaps: true, waits: true },
  askPut: { overlaps: true, idempotent: true, waits: true },
  alone: {},
  write: { writes: true },
  save: { transactional: true, notes: true, writes: true },
  readInside: { readOnly: true, evaluates: true },
  sendInside: { overlaps: true, evaluates: true },
  putInside: { overlaps: true, idempotent: true, evaluates: true },
  noteInside: { overlaps: true, transactional: true, notes: true, evaluates: true },
  saveInside: { transactional: true, notes: true, writes: true, evaluates: true },
} as const satisfies Readonly<Record<string, Kind>>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as readonly KindName[];

/** Kinds of the calls of evaluations inside. */
export const insideKinds = ["send", "read", "put", "note", "ask"] as const satisfies readonly KindName[];

/** Those that overlap with each other, and those that only read. */
const overlapping = ["send", "put", "found", "sendInside", "putInside", "noteInside", "note"] as const;
const reading = ["read", "readInside", "read"] as const;

export interface RandomCall {
  readonly kind: KindName;
  /** Milliseconds before and after what it does. */
  readonly before: number;
  readonly after: number;
  readonly fate: "ok" | "throws" | "fails";
  readonly inside: readonly RandomCall[];
}

/** How an attempt is interrupted, at its step of that number; a deadline after so many milliseconds, a budget of so many requests. */
export interface Interruption {
  readonly how:
    | "none"
    | "abort"
    | "deadline"
    | "budget"
    | "crash"
    | "crash before it is kept"
    | "crash when it is kept"
    | "takeover";
  readonly at: number;
}

export interface InterruptedShape {
  readonly turns: readonly (readonly RandomCall[])[];
  /** What the policy says of a call that may have been done; undefined: no policy is asked. */
  readonly unknown: "allow" | "deny" | "suspend" | undefined;
  readonly reconciles: "truth" | "unknown" | "throws" | "result";
  readonly isStreamed: boolean;
  /** Timers ring up to a millisecond before the clock says so, as those of Node do. */
  readonly ringsEarly: boolean;
  /** The interruptions of the first attempts; later ones have none. */
  readonly interruptions: readonly Interruption[];
  /** How many turns the first attempts have at most, whatever else interrupts them; undefined: as many as they need. */
  readonly turnLimits: readonly (number | undefined)[];
  /** What is decided on what waits, in turn. */
  readonly decisions: readonly ("allow" | "deny" | "result" | "nothing")[];
}

const ways = [
  "abort",
  "deadline",
  "budget",
  "crash",
  "crash before it is kept",
  "crash when it is kept",
  "takeover",
  "none",
] as const;

export function interruptedShapeOf(seed: number): InterruptedShape {
  const random = randomFrom(seed ^ 0x2c1b3c6d);
  const style = random.next();
  const pool = style < 0.3 ? overlapping : style < 0.5 ? reading : kindNames;
  const limits = random.chance(0.4);
  return {
    turns: Array.from({ length: 1 + random.int(3) }, () =>
      Array.from({ length: 1 + random.int(5) }, () => callOf(random, pool)),
    ),
    unknown: random.chance(0.4) ? undefined : random.pick(["allow", "deny", "suspend"] as const),
    reconciles: random.pick(["truth", "truth", "unknown", "throws", "result"] as const),
    isStreamed: random.chance(0.2),
    ringsEarly: random.chance(0.5),
    interruptions: Array.from({ length: 1 + random.int(4) }, () => ({
      how: random.pick(limits ? (["abort", "deadline", "deadline", "budget"] as const) : ways),
      at: 1 + random.int(25),
    })),
    turnLimits: turnLimitsOf(seed),
    decisions: Array.from({ length: 8 }, () => random.pick(["allow", "allow", "deny", "result", "nothing"] as const)),
  };
}

/** The seed's number decides whether it has any, and another sequence how many: the other seeds stay as they were. */
function turnLimitsOf(seed: number): InterruptedShape["turnLimits"] {
  if (seed % 3 !== 0 || seed % 9 === 0) return [];
  const random = randomFrom(seed ^ 0x5be0cd19);
  return Array.from({ length: 2 + random.int(6) }, () => (random.chance(0.7) ? 1 + random.int(4) : undefined));
}

function callOf(random: Random, pool: readonly KindName[], isInside = false): RandomCall {
  const kind = random.pick(pool);
  const evaluates = "evaluates" in kinds[kind];
  return {
    kind,
    before: random.int(3),
    after: random.int(4),
    fate: isInside ? "ok" : random.pick(["ok", "ok", "ok", "ok", "throws", "fails"] as const),
    inside: evaluates ? Array.from({ length: random.int(3) }, () => callOf(random, insideKinds, true)) : [],
  };
}
