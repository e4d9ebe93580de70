// What a recorded evaluation is like: plain data from a seed, so that another process can do the same.
import { randomFrom, type Random } from "../random.ts";

/** The tools that a model calls, and what it does wrong. */
const callKinds = [
  "write",
  "write",
  "read",
  "count",
  "look",
  "look",
  "delve",
  "fail",
  "picture",
  "slow",
  "ask",
  "nothing",
  "wrong",
  "broken",
  "open_sections",
  "hidden",
] as const;

/** A call of a turn. */
export interface RandomCall {
  readonly kind: (typeof callKinds)[number];
  /** undefined: the model gives none; ids also repeat. */
  readonly id: string | undefined;
}

/** Why a request fails before it is answered. */
export type RandomRefusal = "rate_limit" | "server_error" | "not_found" | "network" | "thrown";

export interface RandomTurn {
  /** What each adapter of a chain fails with, in turn, before it answers. */
  readonly refusals: readonly (readonly RandomRefusal[])[];
  readonly calls: readonly RandomCall[];
  readonly words: number;
  readonly reasoning: boolean;
  /** Files that the model makes. */
  readonly files: number;
}

const chains = ["none", "none", "fallback", "hedged", "output"] as const;

export interface Shape {
  readonly seed: number;
  readonly turns: readonly RandomTurn[];
  readonly chain: (typeof chains)[number];
  readonly isStreamed: boolean;
  readonly maxTurns: number;
  readonly budget: number | undefined;
  /** Milliseconds; undefined: none. */
  readonly deadline: number | undefined;
  /** The event at which a listener aborts; undefined: none does. */
  readonly abortsAt: number | undefined;
  readonly output: "text" | "object";
  /** Answers that do not fit the output before one does. */
  readonly misfits: number;
  readonly maxRepairs: number;
  /** How often the checker finds something missing. */
  readonly misses: number;
  readonly feedbackEvery: number | undefined;
  readonly policies: { readonly denies: boolean; readonly changes: boolean; readonly approves: boolean };
  /** Tokens of the window in which the history is kept; undefined: no policy keeps it there. */
  readonly window: number | undefined;
  readonly summarises: boolean;
  /** A file among the params. */
  readonly hasFile: boolean;
  /** The evaluation goes on with these messages. */
  readonly hasHistory: boolean;
  /** What the session held before. */
  readonly notes: number;
  readonly isOverridden: boolean;
  readonly isSummarised: boolean;
  /** A listener refuses successes of this remainder by five; undefined: none does. */
  readonly vetoes: number | undefined;
  /** The journal hides a text. */
  readonly hasSecret: boolean;
  /** What a decision that comes later says. */
  readonly decision: "allow" | "deny" | "result";
  /** Milliseconds from one answer to the next. */
  readonly paceMs: number;
}

const refusals = ["rate_limit", "server_error", "not_found", "network", "thrown"] as const;

export function shapeOf(seed: number): Shape {
  const random = randomFrom(seed);
  const maybe = <T>(share: number, make: () => T): T | undefined => (random.chance(share) ? make() : undefined);
  const turns = Array.from({ length: random.int(6) }, () => turnOf(random));
  const hasFile = random.chance(0.25);
  const files = turns.some(({ files, calls }) => files > 0 || calls.some(({ kind }) => kind === "picture"));
  // A picture alone has more tokens than such a window.
  const window = maybe(hasFile || files ? 0 : 0.4, () => 1_300 + random.int(1_500));
  return {
    seed,
    turns,
    chain: random.pick(chains),
    isStreamed: random.chance(0.5),
    maxTurns: 2 + random.int(9),
    budget: maybe(window === undefined ? 0.2 : 0, () => 40 + random.int(400)),
    // Hashes are made, and what keeps the window is loaded, in real time.
    deadline: maybe(hasFile || files || window !== undefined ? 0 : 0.25, () => 10 + random.int(400)),
    abortsAt: maybe(0.1, () => 1 + random.int(40)),
    output: random.chance(0.5) ? "object" : "text",
    misfits: random.chance(0.3) ? random.int(3) : 0,
    maxRepairs: random.int(3),
    misses: random.chance(0.3) ? random.int(3) : 0,
    feedbackEvery: maybe(0.3, () => 1 + random.int(3)),
    policies: { denies: random.chance(0.3), changes: random.chance(0.2), approves: random.chance(0.2) },
    window,
    summarises: random.chance(0.5),
    hasFile,
    hasHistory: random.chance(0.2),
    notes: random.chance(0.3) ? 1 + random.int(3) : 0,
    isOverridden: random.chance(0.2),
    isSummarised: random.chance(0.3),
    vetoes: maybe(0.15, () => random.int(5)),
    // A text that was hidden has another length: the history is shortened otherwise.
    hasSecret: window === undefined && random.chance(0.2),
    decision: random.pick(["allow", "deny", "result"] as const),
    paceMs: random.int(30),
  };
}

function turnOf(random: Random): RandomTurn {
  const calls = Array.from({ length: random.chance(0.85) ? 1 + random.int(4) : 0 }, () => ({
    kind: random.pick(callKinds),
    id: random.chance(0.5) ? undefined : random.pick(["c1", "c2", "", "c3"]),
  }));
  return {
    refusals: [0, 1].map(() =>
      Array.from({ length: random.chance(0.25) ? 1 + random.int(2) : 0 }, () => random.pick(refusals)),
    ),
    calls,
    words: random.int(4),
    reasoning: random.chance(0.2),
    files: random.chance(0.15) ? 1 + random.int(2) : 0,
  };
}

/** What journals with a secret hide. */
export const secret = "sesame-7731";
