/** What a deed of misbehave.sh comes to where no limit is met: a code with its kind, or "never". */
export const deeds = {
  answers: "answered",
  calls: "answered",
  speaks: "answered",
  garbage: "provider: invalid_response",
  halves: "provider: invalid_response",
  silent: "provider: invalid_response",
  exits: "process: 3",
  ends_itself: "process: SIGTERM",
  kills_itself: "process: SIGKILL",
  is_killed: "process",
  floods: "process: SIGTERM",
  floods_errors: "answered",
  floods_both: "process: SIGTERM",
  closes_input: "process: 0",
  leaves: "answered",
  leaves_stubborn: "answered",
  leaves_family: "answered",
  hangs: "never",
  waits: "never",
  ignores: "never",
  closes_output: "never",
  stops: "never",
  respawns: "never",
  drips: "never",
  hangs_with_family: "never",
} as const satisfies Readonly<Record<string, string>>;

export type Deed = keyof typeof deeds;
/** What ends an evaluation from outside. */
export type Limit = "none" | "deadline" | "abort" | "timeout";

/** Milliseconds in which an evaluation must settle after its limit, on a quiet machine; "none": in all. */
export const bounds: Readonly<Record<Limit, number>> = { none: 10_000, deadline: 100, abort: 100, timeout: 1_000 };
const ends = { deadline: "deadline", abort: "aborted", timeout: "throttled: timeout" } as const;

export interface Plan {
  readonly deed: Deed;
  readonly limit: Limit;
  readonly limitMs: number;
  /** How long the deed takes its time, where it does. */
  readonly deedMs: number;
  readonly stream: boolean;
  /** Who is killed from outside is killed by this. */
  readonly by: "SIGKILL" | "SIGTERM" | "SIGHUP" | "SIGSEGV";
}

export function planFrom(random: () => number): Plan {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const deed = pick(Object.keys(deeds) as Deed[]);
  const limit = pick<Limit>(deeds[deed] === "never" ? ["deadline", "abort", "timeout"] : ["none", "none", ...limited]);
  const limitMs = Math.floor(random() ** 2 * 250) + 1;
  const by = pick(["SIGKILL", "SIGTERM", "SIGHUP", "SIGSEGV"] as const);
  return { deed, limit, limitMs, deedMs: Math.floor(random() * 60), stream: random() < 0.5, by };
}

/** Of these the first of each deed, with a limit and without: every deed and every limit is there. */
export function sliceOf(plans: readonly Plan[]): readonly Plan[] {
  const kinds = new Map(plans.toReversed().map((plan) => [`${plan.deed} ${plan.limit !== "none"}`, plan]));
  const limits = new Map(plans.toReversed().map((plan) => [plan.limit, plan]));
  return [...new Set([...kinds.values(), ...limits.values()])];
}

const limited = ["deadline", "abort", "timeout"] as const;

/** What may come of it. */
export function endsOf({ deed, limit, by }: Plan): readonly string[] {
  const own: string = deed === "is_killed" ? `process: ${by}` : deeds[deed];
  return [...(own === "never" ? [] : [own]), ...(limit === "none" ? [] : [ends[limit]])];
}
