import { DefinitionError } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue, messageOf } from "@proviso/core/internal";
import { shownAddress } from "@proviso/runtime/internal";

/** Settings that adapters of services have in common. */
export interface ModelSettings {
  /** How freely tokens are chosen, 0 to 2. Left out: not sent. */
  readonly temperature?: number | undefined;
  /** The share of probability that tokens are chosen from, 0 to 1. Left out: not sent. */
  readonly topP?: number | undefined;
  /** A whole number, 0 to 20. */
  readonly topLogprobs?: number | undefined;
  /** How much tokens that occurred are avoided, -2 to 2. Left out: not sent. */
  readonly presencePenalty?: number | undefined;
  /** How much frequent tokens are avoided, -2 to 2. Left out: not sent. */
  readonly frequencyPenalty?: number | undefined;
  /** The most tokens of one answer, reasoning included; a whole number, at least 1. */
  readonly maxOutputTokens?: number | undefined;
  /** Milliseconds for one request, its body included. Default: 10 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds that a stream may stand still. Default: one minute, at most `timeoutMs`. */
  readonly stallMs?: number | undefined;
  /** A whole number. */
  readonly seed?: number | undefined;
  /** Texts at which the model stops. */
  readonly stop?: readonly string[] | undefined;
}

const ranges = {
  temperature: [0, 2],
  topP: [0, 1],
  topLogprobs: [0, 20],
  presencePenalty: [-2, 2],
  frequencyPenalty: [-2, 2],
} as const;

/** 10 minutes, the default of OpenAI's and Anthropic's SDKs. */
export const defaultTimeoutMs = 600_000;

/** Milliseconds that a stream may stand still where no `stallMs` is given. */
export const defaultStallMs = 60_000;

/** A timer of more milliseconds fires at once. */
const longestTimerMs = 2 ** 31 - 1;
const largest = {
  maxOutputTokens: Number.MAX_SAFE_INTEGER,
  timeoutMs: longestTimerMs,
  stallMs: longestTimerMs,
} as const;

/** What is left out will do. @throws {DefinitionError} naming the option, its range and what was given. */
export function checkModelSettings(settings: ModelSettings): void {
  for (const [name, [low, high]] of Object.entries(ranges)) {
    const value = settings[name as keyof typeof ranges];
    if (value === undefined || (typeof value === "number" && value >= low && value <= high)) continue;
    throw refused(name, `a number from ${low} to ${high}`, value);
  }
  for (const name of ["maxOutputTokens", "timeoutMs", "stallMs"] as const) {
    const value = settings[name];
    if (value === undefined || (Number.isInteger(value) && value > 0 && value <= largest[name])) continue;
    throw refused(name, `a positive whole number up to ${largest[name]}`, value);
  }
  for (const name of ["topLogprobs", "seed"] as const) {
    const value = settings[name];
    if (value !== undefined && !Number.isInteger(value)) throw refused(name, "a whole number", value);
  }
  const { stop }: { readonly stop?: unknown } = settings;
  if (stop === undefined || (Array.isArray(stop) && stop.every((text) => typeof text === "string"))) return;
  throw new DefinitionError('The option stop must be a list of texts, for example ["END"].');
}

/** Why options under a provider's key cannot be read, as a sentence; undefined: all of them are known. */
export function unknownOption(what: string, given: object | undefined, names: object): string | undefined {
  try {
    checkOptionNames(what, given, names);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

function refused(name: string, expected: string, value: unknown): DefinitionError {
  return new DefinitionError(`The option ${name} must be ${expected}, not ${describeValue(value)}.`);
}

/**
 * The address of a service, as given.
 * @throws {DefinitionError} for one that is none of HTTP's, or that holds a user name or a password; it shows the rest.
 */
export function checkBaseURL(address: string): string {
  const url = URL.parse(address);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    const shown = /[/:@]/.test(address) ? JSON.stringify(shownAddress(address)) : "a text without one";
    throw new DefinitionError(`The base URL must be an address that begins with http:// or https://, not ${shown}.`);
  }
  if (url.username === "" && url.password === "") return address;
  throw new DefinitionError(
    "The base URL must not hold a user name or a password: no request can be made with such an address. Give " +
      `${JSON.stringify(shownAddress(address))}, and send them in a header: { headers: { authorization: "Basic …" } }.`,
  );
}
