import { isRecord } from "@proviso/core/provider";
import { listAt, textAt, endsResponse, streamedItems } from "@proviso/adapter-kit";

/**
 * How to treat the SDK's parts for a raw event: "all": keep and emit them; "silent": keep without emitting; "no text":
 * drop deltas; "nothing": drop all.
 */
export type Counts = "all" | "silent" | "no text" | "nothing";

/** Reads the raw events of OpenAI's wires beside the parts that an SDK makes of them, and the end of Gemini's. */
export interface OpenAIEvents {
  read(raw: unknown): Counts;
  /** The answer that the last event of Responses carries, or that the items before it add up to. */
  body(): unknown;
  /** Whether the body is made of the items that came before the last event: one that never came whole is not in it. */
  isPieced(): boolean;
  /** The finish reason of the first choice of Chat Completions. */
  reason(): string | undefined;
  /** The tier that served, as chunks of Chat Completions name it, which the SDK drops. */
  tier(): string | undefined;
  /** Whether a usage arrived, and no choice at all. */
  hasUsageAlone(): boolean;
  /** Whether the answer has come to its end, also if nothing more comes. */
  hasEnded(): boolean;
  /** Whether events of a known wire arrived and none of them was the last: the stream was cut, whatever an SDK makes of it. */
  isCut(): boolean;
}

/**
 * Events come twice and late, and an SDK would add them to the answer. Responses numbers its events and names the last
 * one; of Chat Completions nothing but the usage comes after the reason.
 */
export function openaiEvents(): OpenAIEvents {
  const items = streamedItems();
  let last = -1;
  let body: unknown;
  let isPieced = false;
  let reason: string | undefined;
  let endsWithUsage = false;
  let hasChoice = false;
  let tier: string | undefined;
  let hasEvents = false;
  let hasCandidateEnded = false;

  function readChunk(raw: Readonly<Record<string, unknown>>, choices: readonly unknown[]): Counts {
    hasEvents = true;
    // A usage without a choice stands behind the last one; some services give theirs with each chunk beside it.
    endsWithUsage = choices.length === 0 && (endsWithUsage || isRecord(raw["usage"]));
    hasChoice ||= choices.length > 0;
    tier = textAt(raw, "service_tier") || tier;
    if (reason !== undefined) return "no text";
    const [choice] = choices;
    reason = textAt(choice, "finish_reason") || undefined;
    return isRecord(choice) && textAt(choice["delta"], "refusal") !== "" ? "silent" : "all";
  }

  return {
    read(raw) {
      if (!isRecord(raw)) return "all";
      const { sequence_number: number, choices, candidates, response } = raw;
      if (Array.isArray(choices)) return readChunk(raw, choices);
      if (body !== undefined) return "nothing";
      const type = textAt(raw, "type");
      hasEvents ||= Array.isArray(candidates) || type.startsWith("response.");
      // The last chunk of Gemini's wire says why it is the last.
      hasCandidateEnded ||= textAt(listAt(raw, "candidates")[0], "finishReason") !== "";
      // An error counts whatever its number.
      if (type === "error") return "all";
      const isLate = typeof number === "number" && number <= last;
      // An item has its place, so that one which comes late, or twice, is no loss.
      if (!isLate || typeof raw["output_index"] === "number") items.read(raw);
      if (isLate) return "nothing";
      if (typeof number === "number") last = number;
      if (isRecord(response) && endsResponse(type, response)) {
        body = items.whole(response);
        isPieced = body !== response;
      }
      return type === "response.refusal.delta" ? "silent" : "all";
    },
    body: () => body,
    isPieced: () => isPieced,
    reason: () => reason,
    tier: () => tier,
    hasUsageAlone: () => endsWithUsage && !hasChoice,
    hasEnded: () => reason !== undefined || body !== undefined,
    isCut: () => hasEvents && !endsWithUsage && !hasCandidateEnded && reason === undefined && body === undefined,
  };
}
