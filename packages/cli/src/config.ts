import type { ProviderAdapter } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { AdapterOptions } from "@proviso/runtime";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { importedModule } from "./load-module.ts";
import { didYouMean, UsageError } from "./usage.ts";

/** What the commands go by in a folder; flags win. Paths are relative to the file. */
export interface ProvisoConfig {
  /**
   * Makes the adapter that answers, for `run`, `chat` and `eval`, from what the command gives it. Left out: `--model` has
   * to name one.
   */
  readonly adapter?: ((options: AdapterOptions) => ProviderAdapter) | undefined;
  /** Where runs are recorded and looked for: a file or a folder. Default `.proviso/runs.db`; false: nothing is recorded. */
  readonly runs?: string | false | undefined;
  /** The folder of the overrides. Default `.proviso/overrides`. */
  readonly overrides?: string | undefined;
}

/**
 * Returns the config as it is, typed: the default export of `proviso.config.ts`.
 * @example
 * ```ts
 * import { openai } from "@proviso/adapter-openai";
 * import { defineConfig } from "@proviso/cli";
 *
 * export default defineConfig({ adapter: (options) => openai({ ...options, model: "gpt-5.4" }) });
 * ```
 */
export function defineConfig(config: ProvisoConfig): ProvisoConfig {
  return config;
}

/** Where runs are, unless a config or a flag says otherwise. */
export const defaultRuns = join(".proviso", "runs.db");
/** Where attempts of evals are kept, unless a flag says otherwise. */
export const defaultEvals = join(".proviso", "evals.sqlite");
export const defaultOverrides = join(".proviso", "overrides");

const files = ["proviso.config.ts", "proviso.config.mts", "proviso.config.js", "proviso.config.mjs"];
const expected: Readonly<Record<keyof ProvisoConfig, readonly [string, (value: unknown) => boolean]>> = {
  adapter: ["a function that makes an adapter", (value) => typeof value === "function"],
  runs: ["a path or false", (value) => value === false || isPath(value)],
  overrides: ["a path", isPath],
};

function isPath(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

/**
 * The config of a folder; empty where there is none.
 * @throws {UsageError} for one that cannot be loaded, and for what it cannot say.
 */
export async function configIn(cwd: string): Promise<ProvisoConfig> {
  const [file, other] = files.filter((name) => existsSync(resolve(cwd, name)));
  if (file === undefined) return {};
  if (other !== undefined) throw new UsageError(`there are ${file} and ${other}: one of them has to go`);
  const { default: config } = await importedModule(file, cwd);
  if (!isRecord(config)) throw new UsageError(`${file} has to export its config as default`);
  for (const [name, value] of Object.entries(config)) {
    const names = Object.keys(expected);
    if (!Object.hasOwn(expected, name)) {
      throw new UsageError(`${file} has no setting ${name}, but ${names.join(", ")}${didYouMean(name, names)}`);
    }
    const [mustBe, fits] = expected[name as keyof ProvisoConfig];
    if (value !== undefined && !fits(value)) throw new UsageError(`${name} in ${file} must be ${mustBe}`);
  }
  return config;
}

/** The journal that a command looks into: the one that is given, else that of the config. */
export async function runsPath(given: string | undefined, cwd: string): Promise<string> {
  if (given !== undefined) return resolve(cwd, given);
  const { runs } = await configIn(cwd);
  return resolve(cwd, runs === undefined || runs === false ? defaultRuns : runs);
}
