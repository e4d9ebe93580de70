import { parseArgs, type ParseArgsConfig } from "node:util";
import { didYouMean, shown, UsageError } from "./usage.ts";

/** Flags by name, as `parseArgs` takes them. */
export type Flags = NonNullable<ParseArgsConfig["options"]>;

export const text = { type: "string" } as const;
export const flag = { type: "boolean" } as const;

/** Reads the arguments of a command. @throws {UsageError} for an unknown flag, with the nearest one, and one without its value. */
export function readArguments<Known extends Flags>(args: readonly string[], options: Known) {
  try {
    return parseArgs({ args: [...args], allowPositionals: true, options });
  } catch (error) {
    const { message } = error as Error;
    const [, unknown] = /^Unknown option '(--?[^']*)'/.exec(message) ?? [];
    if (unknown === undefined) throw new UsageError(message);
    const near = didYouMean(
      unknown,
      Object.keys(options).map((name) => `--${name}`),
    );
    throw new UsageError(`there is no flag ${shown(unknown)}${near}`);
  }
}

/** The one of the known names that was given. @throws {UsageError} for another one, with the nearest. */
export function oneOf<Name extends string>(takes: string, given: string, known: readonly Name[]): Name {
  const found = known.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UsageError(`${takes} ${known.join(", ")}, not ${shown(given)}${didYouMean(given, known)}`);
}

/** A whole number. @throws {UsageError} for anything else. */
export function wholeNumber(name: string, given: string, least: number, most: number): number {
  const number = /^\d{1,15}$/.test(given) ? Number(given) : -1;
  if (number >= least && number <= most) return number;
  throw new UsageError(`${name} takes a whole number from ${least} to ${most}, not ${shown(given)}`);
}
