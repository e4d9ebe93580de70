// What an answer has beside its message, read field by field: what JSON cannot write is as if it were not given.
import type { GeneratedFile, ProviderCall, RouteStep, Source, TokenLogprob } from "@proviso/core";
import { isA, toJsonValue } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { readUsage } from "./read-usage.ts";

/** What is no file is left out; an offset outside the text is the text's end. */
export function readGenerated(given: unknown, end: number): readonly GeneratedFile[] | undefined {
  if (!Array.isArray(given)) return undefined;
  const files = given.filter(isRecord).flatMap(({ at, mediaType, name, data }): readonly GeneratedFile[] => {
    if (typeof data !== "string" && !isA(data, Uint8Array)) return [];
    const isPlace = Number.isInteger(at) && (at as number) >= 0 && (at as number) <= end;
    return [
      {
        at: isPlace ? (at as number) : end,
        mediaType: typeof mediaType === "string" ? mediaType : "",
        ...(typeof name === "string" ? { name } : {}),
        data,
      },
    ];
  });
  return files.length === 0 ? undefined : files.toSorted((one, other) => one.at - other.at);
}

/** A list with anything in it that cannot be read is as if there was none. */
function readAll<T>(given: unknown, read: (item: unknown) => T | undefined): readonly T[] | undefined {
  const items = Array.isArray(given) ? given.map(read) : [undefined];
  return items.includes(undefined) ? undefined : (items as readonly T[]);
}

export function readLogprobs(given: unknown): readonly TokenLogprob[] | undefined {
  return readAll(given, readToken);
}

function readToken(given: unknown): TokenLogprob | undefined {
  if (!isRecord(given)) return undefined;
  const { top } = given;
  const others = Array.isArray(top) ? top.filter(isRecord) : [];
  const own = readLogprob(given);
  return own && { ...own, top: others.flatMap((other) => readLogprob(other) ?? []) };
}

/** A token that a model never gives has the logarithm of zero, which JSON cannot write. */
function readLogprob({
  token,
  logprob: given,
}: Readonly<Record<string, unknown>>): Omit<TokenLogprob, "top"> | undefined {
  const logprob = numberOf(given);
  return typeof token === "string" && logprob !== undefined ? { token, logprob } : undefined;
}

/** A route of no tries is as if there was none. */
export function readRoute(given: unknown): readonly RouteStep[] | undefined {
  const steps = readAll(given, readStep);
  return steps?.length === 0 ? undefined : steps;
}

function readStep(given: unknown): RouteStep | undefined {
  if (!isRecord(given)) return undefined;
  const { provider, model, outcome, why, durationMs, usage } = given;
  const isStep = [provider, model, outcome].every(isText) && numberOf(durationMs) !== undefined;
  const cost = readUsage(usage);
  const read = { provider, model, outcome, ...(isText(why) && { why }), durationMs, ...(cost && { usage: cost }) };
  return isStep ? (read as RouteStep) : undefined;
}

/** The sources in the order of their first mention, each once; an offset outside the text is left out. */
export function readSources(given: unknown, text: string): readonly Source[] | undefined {
  if (given === undefined || !Array.isArray(given)) return undefined;
  const byWhat = new Map<string, Source>();
  for (const one of given as readonly unknown[]) {
    const source = readSource(one, text);
    if (source === undefined) continue;
    const { at: _, ...what } = source;
    const key = JSON.stringify(what);
    if (!byWhat.has(key)) byWhat.set(key, source);
  }
  return byWhat.size === 0 ? undefined : [...byWhat.values()];
}

function readSource(given: unknown, text: string): Source | undefined {
  if (!isRecord(given)) return undefined;
  const { kind, url, title, fileName, at } = given;
  if (kind !== "url" && kind !== "document") return undefined;
  return {
    kind,
    ...(typeof url === "string" && url !== "" ? { url } : undefined),
    ...(typeof title === "string" && title !== "" ? { title } : undefined),
    ...(typeof fileName === "string" && fileName !== "" ? { fileName } : undefined),
    ...placeIn(text, at),
  };
}

function placeIn(text: string, at: unknown): Pick<Source, "at"> | undefined {
  if (!isRecord(at)) return undefined;
  const { start, end } = at;
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end)) return undefined;
  const [from, to] = [start as number, end as number];
  return from < 0 || to < from || to > text.length ? undefined : { at: { start: from, end: to } };
}

/** The calls that the provider ran, in their order. One without a name is passed over. */
export function readProviderCalls(given: unknown): readonly ProviderCall[] | undefined {
  if (given === undefined || !Array.isArray(given)) return undefined;
  const calls = (given as readonly unknown[]).flatMap(readProviderCall);
  return calls.length === 0 ? undefined : calls;
}

function readProviderCall(given: unknown): readonly ProviderCall[] {
  if (!isRecord(given)) return [];
  const { callId, name, input, output, isError } = given;
  if (typeof name !== "string") return [];
  const returned = output === undefined ? undefined : { output: toJsonValue(output)?.value ?? null };
  const id = typeof callId === "string" ? callId : "";
  return [{ callId: id, name, input: toJsonValue(input)?.value ?? null, ...returned, isError: isError === true }];
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
