import { DefinitionError, type Prompt } from "@proviso/core";
import { givenParams } from "@proviso/core/internal";
import { isRecord, parseJson } from "@proviso/core/provider";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { FoundPrompt } from "./prompts.ts";
import { shown, UsageError } from "./usage.ts";
import type { World } from "./world.ts";

/** UTF-16 units of a file of params. */
const longest = 64 * 1024 * 1024;

/** The params as a command line gives them. */
export interface GivenParams {
  /** A list of `name=value`. */
  readonly pairs: readonly string[];
  /** A file with all of them as JSON, or "-" for stdin. */
  readonly file: string | undefined;
}

/**
 * Binds the prompt with what the command line gives. A value is first taken as a text; where the schema does not take a
 * text, it is read as JSON.
 * @throws {UsageError} that names all that is missing or does not fit.
 */
export async function boundPrompt(found: FoundPrompt, { pairs, file }: GivenParams, world: World): Promise<Prompt> {
  const { bound, template } = found;
  const isGiven = pairs.length > 0 || file !== undefined;
  if (bound !== undefined && !isGiven) return bound;
  const whole = file === undefined ? {} : await paramsIn(file, world);
  const texts = textsOf(pairs);
  const bind = template.bind as (params: unknown) => Prompt;
  const given = { ...(bound && givenParams(bound)), ...whole, ...texts };
  try {
    return bind(given);
  } catch (error) {
    const unfit = namesIn(error).filter((name) => Object.hasOwn(texts, name));
    const read = unfit.flatMap((name) => jsonOf(name, texts[name] ?? ""));
    try {
      return bind({ ...given, ...Object.fromEntries(read) });
    } catch (second) {
      if (second instanceof DefinitionError) throw new UsageError(second.message);
      throw second;
    }
  }
}

/** The params that a DefinitionError found unfit. */
function namesIn(error: unknown): readonly string[] {
  const { issues = [] } = error as { readonly issues?: readonly { readonly path: string }[] };
  return issues.map(({ path }) => /^[^.[]*/.exec(path)?.[0] ?? path);
}

function jsonOf(name: string, text: string): readonly (readonly [string, unknown])[] {
  const parsed = parseJson(text);
  // What is no JSON stays a text, and is refused as one.
  return parsed.ok ? [[name, parsed.value]] : [];
}

function textsOf(pairs: readonly string[]): Readonly<Record<string, string>> {
  const texts = new Map<string, string>();
  for (const pair of pairs) {
    const at = pair.indexOf("=");
    const name = pair.slice(0, at);
    if (at <= 0) throw new UsageError(`--param takes name=value, not ${shown(pair)}`);
    if (texts.has(name)) throw new UsageError(`--param ${name} is given twice`);
    texts.set(name, pair.slice(at + 1));
  }
  return Object.fromEntries(texts);
}

async function paramsIn(file: string, { stdin, cwd }: World): Promise<Readonly<Record<string, unknown>>> {
  const where = file === "-" ? "stdin" : resolve(cwd, file);
  const unreadable = (why: string): UsageError => new UsageError(`the params of ${where} cannot be read: ${why}`);
  const text = await (file === "-" ? allOf(stdin) : readFile(where, "utf8")).catch((error: Error) => {
    throw unreadable(error.message);
  });
  const parsed = parseJson(text, { maxLength: longest });
  if (!parsed.ok) throw unreadable(parsed.error);
  const params = parsed.value;
  if (isRecord(params) && !Array.isArray(params)) return params;
  throw new UsageError(`the params of ${where} must be a JSON object`);
}

async function allOf(stdin: World["stdin"]): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  for await (const chunk of stdin) all += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
  return all + decoder.decode();
}
