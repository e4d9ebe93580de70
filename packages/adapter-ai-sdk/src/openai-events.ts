import { isRecord } from "@proviso/core/provider";
import { textAt } from "@proviso/adapter-kit";

/** What is made of the parts that come of one event. */
export type Counts = "all" | "untold" | "no text" | "nothing";

/** The raw events of OpenAI's wires, looked at beside what an SDK makes of them. */
export interface OpenAIEvents {
  hear(raw: unknown): Counts;
  /** The last event's own answer: Responses. */
  body(): unknown;
  /** Why the first choice ended: Chat Completions. */
  reason(): string | undefined;
  /** It told its usage, so it came to its end. */
  toldUsage(): boolean;
  /** Events came, and none of them was the end: the stream was cut, whatever an SDK makes of it. */
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
  let isHeard = false;

  function hearChunk(raw: Readonly<Record<string, unknown>>, choices: readonly unknown[]): Counts {
    if (isRecord(raw["usage"])) usage = true;
    if (reason !== undefined) return "no text";
    const [choice] = choices;
    reason = textAt(choice, "finish_reason") || undefined;
    return isRecord(choice) && textAt(choice["delta"], "refusal") !== "" ? "untold" : "all";
  }

  return {
    hear(raw) {
      if (!isRecord(raw)) return "all";
      isHeard = true;
      const { sequence_number: number, choices, response } = raw;
      if (Array.isArray(choices)) return hearChunk(raw, choices);
      if (body !== undefined) return "nothing";
      const type = textAt(raw, "type");
      // An error counts whatever its number.
      if (type === "error") return "all";
      if (typeof number === "number" && number <= last) return "nothing";
      if (typeof number === "number") last = number;
      if (isRecord(response) && isTerminal(type, textAt(response, "status"))) body = response;
      return type === "response.refusal.delta" ? "untold" : "all";
    },
    body: () => body,
    reason: () => reason,
    toldUsage: () => usage,
    isCut: () => isHeard && !usage && reason === undefined && body === undefined,
  };
}

function isTerminal(type: string, status: string): boolean {
  if (["response.completed", "response.incomplete", "response.failed"].includes(type)) return true;
  return type.startsWith("response.") && ["cancelled", "failed"].includes(status);
}
