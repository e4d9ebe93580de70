// What a provider returns beside its answer: anyone may have written it, so each part is read or passed over.
import type { ProviderCall, Source } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { toJsonValue } from "@proviso/core/internal";

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
export function readCalls(given: unknown): readonly ProviderCall[] | undefined {
  if (given === undefined || !Array.isArray(given)) return undefined;
  const calls = (given as readonly unknown[]).flatMap(readCall);
  return calls.length === 0 ? undefined : calls;
}

function readCall(given: unknown): readonly ProviderCall[] {
  if (!isRecord(given)) return [];
  const { callId, name, input, output, isError } = given;
  if (typeof name !== "string") return [];
  const returned = output === undefined ? undefined : { output: toJsonValue(output)?.value ?? null };
  const id = typeof callId === "string" ? callId : "";
  return [{ callId: id, name, input: toJsonValue(input)?.value ?? null, ...returned, isError: isError === true }];
}
