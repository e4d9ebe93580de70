import { DefinitionError, systemClock, type Clock, type Observer } from "@proviso/core";
import { describeValue, isObjectOrFunction } from "@proviso/core/internal";
import type { OptionNames } from "@proviso/core/provider";
import { ignoreRejection, type Logger } from "./logging.ts";
import { openObservers, type Observers } from "./observing/observers.ts";
import { openSecrets, type Secrets } from "./secrets.ts";

/**
 * What is outside the program; left out, the system's own. With clock, random and newId given, a run is a function of
 * its inputs.
 */
export interface Environment {
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
  /** Uniform in [0, 1). */
  readonly random?: (() => number) | undefined;
  /** Makes the ids of evaluations and sessions. Default: random UUIDs. */
  readonly newId?: (() => string) | undefined;
  /** The logger of the runtime. Left out: nothing is logged. */
  readonly logger?: Logger | undefined;
  /** What sees every evaluation; the first one is the outermost of `around`. Default: none, and then it costs nothing. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * Texts that no event, error, log or snapshot of an evaluation may show, however they are written there: as they are,
   * without the blanks around them, escaped in JSON or an address, in base64. The keys and headers that an adapter is
   * given are always among them. What `evaluate` returns is the model's answer as it came.
   */
  readonly secrets?: readonly string[] | undefined;
}

/** The names of these options, for whatever takes them among its own. */
export const environmentNames = {
  clock: true,
  random: true,
  newId: true,
  logger: true,
  observers: true,
  secrets: true,
} as const satisfies OptionNames<Environment>;

/** An environment with nothing left out. */
export interface World {
  readonly clock: Clock;
  readonly random: () => number;
  readonly newId: () => string;
  /** undefined: nothing is logged. */
  readonly logger: Logger | undefined;
  /** undefined: there are none. */
  readonly observers: Observers | undefined;
  /** undefined: there are none. */
  readonly secrets: Secrets | undefined;
}

/** An id of the system's own making, for what is made outside a run. */
export const systemId = (): string => globalThis.crypto.randomUUID();

/** 128 random bits of the system's own, for secrets: they follow from no seed and stand in no record. */
export const systemSecret = (): Uint8Array => globalThis.crypto.getRandomValues(new Uint8Array(16));

/** An id that is no text would not be found again: a call could not be undone by it. */
function textFrom(newId: () => unknown): () => string {
  return () => {
    const id = newId();
    if (typeof id === "string" && id !== "") return id;
    ignoreRejection(id);
    throw new DefinitionError(`The option newId must return a text: not ${describeValue(id)}.`);
  };
}

/** @throws {DefinitionError} that says what the option must be. */
function checkFunctions(option: string, given: unknown, names: readonly string[], such: string): void {
  if (given === undefined) return;
  const found = given as Readonly<Record<string, unknown>> | null;
  const missing = names.find((name) => typeof found?.[name] !== "function");
  if (missing === undefined) return;
  const why = isObjectOrFunction(given) ? `: it has no function ${missing}` : `, not ${describeValue(given)}`;
  throw new DefinitionError(`The option ${option} must be ${such} with ${names.join(", ")}${why}.`);
}

/** @throws {DefinitionError} */
function checkFunction(option: string, given: unknown): void {
  if (given === undefined || typeof given === "function") return;
  throw new DefinitionError(`The option ${option} must be a function, not ${describeValue(given)}.`);
}

/**
 * The system's own wherever nothing is given: the only randomness and ids that are not injected.
 * @throws {DefinitionError} for what is no clock, function or logger, for a secret that is no text, or a blank one, and
 * for what is no observer.
 */
export function resolveEnvironment(given: Environment): World {
  const { clock = systemClock, random = Math.random, newId, logger } = given;
  checkFunctions("clock", clock, ["now", "sleep"], "a clock");
  checkFunction("random", random);
  checkFunction("newId", newId);
  checkFunctions("logger", logger, ["debug", "info", "warn", "error"], "a logger, pino or console for example,");
  checkFunction("logger.isLevelEnabled", logger?.isLevelEnabled);
  return {
    clock,
    random,
    newId: newId === undefined ? systemId : textFrom(newId),
    logger,
    observers: openObservers(given.observers),
    secrets: openSecrets(given.secrets),
  };
}

/** Milliseconds since a moment; none where the clock was set back meanwhile. */
export function elapsedMs(clock: Clock, since: number): number {
  return Math.max(0, clock.now() - since);
}
