import { parseArgs } from "node:util";
import { stat } from "node:fs/promises";
import { relative, resolve } from "node:path";

export const help = `demo [folder]: reviews the code of a folder (default: packages/core/src)

  --api responses|chat   which API of OpenAI's, default responses
  --model NAME           default: PROVISO_MODEL, else gpt-5.4
  --deadline-ms N        default 120000
  --budget N             tokens in all, default 500000
  --latency-ms N         of the simulator, default 40
  --json                 the review alone, as JSON, on standard output
  --resume               goes on with the newest review of this folder that was interrupted
  --runs FILE            where reviews are recorded, default .proviso/demo.db
  --help

demo --view [run]: opens a recorded review in the viewer (default: the newest); Ctrl-C ends it`;

/** Something the person at the terminal has to know, in one line. */
export class UsageError extends Error {}

export interface Settings {
  readonly folder: string;
  readonly api: "responses" | "chat";
  readonly model: string;
  readonly deadlineMs: number;
  readonly budget: number;
  readonly latencyMs: number;
  readonly json: boolean;
  /** undefined: the simulator answers. */
  readonly apiKey: string | undefined;
  /** undefined: OpenAI's own. */
  readonly baseURL: string | undefined;
  /** Goes on with a review that was interrupted. */
  readonly resume: boolean;
  /** The journal that it is recorded in. */
  readonly runs: RunsFile;
}

/** The file of the recorded reviews. */
export interface RunsFile {
  readonly path: string;
  /** As it was given; undefined: the default. */
  readonly given: string | undefined;
}

/** A recorded review to look at. */
export interface Viewing {
  readonly runs: RunsFile;
  /** undefined: the newest. */
  readonly run: string | undefined;
  readonly json: boolean;
}

/** What the command is to do. */
export type Wanted = "help" | { readonly view: Viewing } | { readonly review: Settings };

/** @throws {UsageError} for an unknown flag, a bad value, a base URL or a folder that is none. */
export async function readSettings(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Wanted> {
  const { values, positionals } = parse(args);
  if (values.help === true) return "help";
  if (values.runs?.trim() === "") throw new UsageError("--runs takes the name of a file.");
  const runs = {
    path: values.runs === undefined ? resolve(repository, ".proviso/demo.db") : fromHere(values.runs, env),
    given: values.runs,
  };
  const { json = false, resume = false } = values;
  if (values.view === true) {
    if (resume) throw new UsageError("--view opens a recorded review, --resume goes on with one: give one of them.");
    if (positionals.length > 1) throw new UsageError(`one run at a time, not ${positionals.length}.`);
    return { view: { runs, run: positionals[0], json } };
  }
  if (positionals.length > 1) throw new UsageError(`one folder at a time, not ${positionals.length}.`);
  const api = values.api ?? "responses";
  if (api !== "responses" && api !== "chat") throw new UsageError(`--api is "responses" or "chat", not "${api}".`);
  if (values.model?.trim() === "") throw new UsageError("--model takes a name.");
  const apiKey = env["OPENAI_API_KEY"]?.trim() || undefined;
  const review: Settings = {
    folder: await existingFolder(positionals[0], env),
    api,
    model: values.model ?? (env["PROVISO_MODEL"]?.trim() || "gpt-5.4"),
    deadlineMs: count("--deadline-ms", values["deadline-ms"], 120_000),
    budget: count("--budget", values.budget, 500_000),
    latencyMs: count("--latency-ms", values["latency-ms"], 40),
    json,
    apiKey,
    baseURL: apiKey === undefined ? undefined : checkedURL(env["OPENAI_BASE_URL"]?.trim() || undefined),
    resume,
    runs,
  };
  return { review };
}

function parse(args: readonly string[]) {
  const text = { type: "string" } as const;
  const flag = { type: "boolean" } as const;
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        api: text,
        model: text,
        "deadline-ms": text,
        budget: text,
        "latency-ms": text,
        json: flag,
        resume: flag,
        runs: text,
        view: flag,
        help: flag,
      },
    });
  } catch (error) {
    // Node explains in several sentences; the first says what is wrong.
    throw new UsageError(`${(error as Error).message.split(/\.\s/)[0]}. --help shows the flags.`);
  }
}

/** What it may hold beside an address is a secret, so it is not repeated. */
function checkedURL(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError("OPENAI_BASE_URL must begin with http:// or https://.");
  }
  if (url.username !== "" || url.password !== "") {
    throw new UsageError("OPENAI_BASE_URL must not hold a user name or a password.");
  }
  return text;
}

const repository = resolve(import.meta.dirname, "../..");

/** What is given is relative to where the command was typed; pnpm keeps that in INIT_CWD. */
function fromHere(given: string, env: NodeJS.ProcessEnv): string {
  return resolve(env["INIT_CWD"] ?? ".", given);
}

async function existingFolder(given: string | undefined, env: NodeJS.ProcessEnv): Promise<string> {
  const folder = given === undefined ? resolve(repository, "packages/core/src") : fromHere(given, env);
  const stats = await stat(folder).catch(() => undefined);
  if (stats === undefined) throw new UsageError(`there is no folder ${given ?? folder}.`);
  if (!stats.isDirectory()) throw new UsageError(`${given} is a file; name a folder.`);
  return folder;
}

/** As a person would write it. */
export function shortPath(folder: string): string {
  const short = relative(process.cwd(), folder);
  return short === "" || short.startsWith("..") ? folder : short;
}

function count(flag: string, text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (!/^\d{1,9}$/.test(text) || (Number(text) === 0 && flag !== "--latency-ms")) {
    const least = flag === "--latency-ms" ? "a whole number" : "a whole number above 0";
    throw new UsageError(`${flag} takes ${least}, not "${text}".`);
  }
  return Number(text);
}
