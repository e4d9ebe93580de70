import { isRecord } from "@proviso/core/provider";
import { textAt, endsResponse } from "@proviso/adapter-kit";

/**
 * How to treat the SDK's parts for a raw event: "all": keep and emit them; "silent": keep without emitting; "no text":
 * drop deltas; "nothing": drop all.
 */
export type Counts = "all" | "silent" | "no text" | "nothing";

/** Reads the raw events of OpenAI's wires beside the parts that an SDK makes of them. */
export interface OpenAIEvents {
  read(raw: unknown): Counts;
  /** The answer that the last event of Responses carries. */
  body(): unknown;
  /** The finish reason of the first choice of Chat Completions. */
  reason(): string | undefined;
  /** The tier that served, as chunks of Chat Completions name it, which the SDK drops. */
  tier(): string | undefined;
  /** Whether a usage chunk arrived; a service sends it last, so the stream came to its end. */
  reportedUsage(): boolean;
  /** Whether the answer has come to its end, also if nothing more comes. */
  hasEnded(): boolean;
  /** Whether events arrived and none of them was the last: the stream was cut, whatever an SDK makes of it. */
  isCut(): boolean;
}

/**
 * Events come twice and late, and an SDK would add them to the answer. Responses numbers its events and names the last
 * one; of Chat Completions nothing but the usage comes after the reason.
 */
export function openaiEvents(): OpenAIEvents {
  let last = -1;
  let body: unknown;
  let reason: string | undefined;
  let usage = false;
  let tier: string | undefined;
  let hasEvents = false;

  function readChunk(raw: Readonly<Record<string, unknown>>, choices: readonly unknown[]): Counts {
    if (isRecord(raw["usage"])) usage = true;
    tier = textAt(raw, "service_tier") || tier;
    if (reason !== undefined) return "no text";
    const [choice] = choices;
    reason = textAt(choice, "finish_reason") || undefined;
    return isRecord(choice) && textAt(choice["delta"], "refusal") !== "" ? "silent" : "all";
  }

  return {
    read(raw) {
      if (!isRecord(raw)) return "all";
      hasEvents = true;
      const { sequence_number: number, choices, response } = raw;
      if (Array.isArray(choices)) return readChunk(raw, choices);
      if (body !== undefined) return "nothing";
      const type = textAt(raw, "type");
      // An error counts whatever its number.
      if (type === "error") return "all";
      if (typeof number === "number" && number <= last) return "nothing";
      if (typeof number === "number") last = number;
      if (isRecord(response) && endsResponse(type, response)) body = response;
      return type === "response.refusal.delta" ? "silent" : "all";
    },
    body: () => body,
    reason: () => reason,
    tier: () => tier,
    reportedUsage: () => usage,
    hasEnded: () => reason !== undefined || body !== undefined,
    isCut: () => hasEvents && !usage && reason === undefined && body === undefined,
  };
}
