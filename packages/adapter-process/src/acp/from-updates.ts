import type { ModelFailure, ModelResponse, ReportedUsage } from "@proviso/core";
import type { FinishReason, ModelDelta } from "@proviso/core/provider";
import { isRecord } from "@proviso/core/provider";
import { largestOutput } from "../run-command.ts";
import type { Secrets } from "@proviso/runtime/internal";
import { shownOf, WireError } from "./wire.ts";

type Json = Readonly<Record<string, unknown>>;

/** What an agent sends while it works on one turn. */
export interface Updates {
  /** Reads the params of one `session/update` notification. Unknown kinds are ignored. */
  read(params: unknown): void;
  /** The whole text of the turn, in order. */
  text(): string;
  /** The thoughts of the turn, in order; a blank line stands where something else came between. */
  reasoning(): string;
  /** The title that it gave a call, last. */
  titleOf(toolCallId: string): string | undefined;
  costUsd(): number | undefined;
}

/** Calls whose titles are kept. */
const mostTitles = 1_000;

/** Collects text and thoughts and passes each piece to `onDelta`. A call between two texts makes a paragraph. */
export function collectUpdates(onDelta: (delta: ModelDelta) => void): Updates {
  const texts: string[] = [];
  const thoughts: string[] = [];
  let length = 0;
  let called = false;
  let isThinking = false;
  let costUsd: number | undefined;
  const titles = new Map<string, string>();

  const add = (text: string, kind: "text" | "reasoning"): void => {
    length += text.length;
    if (length > largestOutput) throw new WireError(`said more than ${largestOutput} characters`);
    (kind === "text" ? texts : thoughts).push(text);
    onDelta({ kind, text });
  };
  const say = (text: string): void => {
    if (called && texts.length > 0) add("\n\n", "text");
    called = false;
    add(text, "text");
  };
  const think = (text: string): void => {
    if (!isThinking && thoughts.length > 0) add("\n\n", "reasoning");
    add(text, "reasoning");
  };
  const readCall = ({ toolCallId, title }: Json): void => {
    called = true;
    if (typeof toolCallId !== "string" || typeof title !== "string") return;
    titles.set(toolCallId, title);
    // The oldest goes: a call is asked about soon after it is announced.
    if (titles.size > mostTitles) titles.delete(titles.keys().next().value as string);
  };
  return {
    read(params) {
      const update = field(params, "update");
      if (!isRecord(update)) return;
      const kind = update["sessionUpdate"];
      if (kind === "agent_message_chunk" || kind === "agent_thought_chunk") {
        const content = update["content"];
        const text = field(content, "type") === "text" ? field(content, "text") : undefined;
        if (typeof text !== "string" || text === "") return;
        const isThought = kind === "agent_thought_chunk";
        if (isThought) think(text);
        else say(text);
        isThinking = isThought;
        return;
      }
      isThinking = false;
      switch (kind) {
        case "tool_call":
        case "tool_call_update":
          return readCall(update);
        case "usage_update":
          costUsd = costOf(update["cost"]) ?? costUsd;
      }
    },
    text: () => texts.join(""),
    reasoning: () => thoughts.join(""),
    titleOf: (id) => titles.get(id),
    costUsd: () => costUsd,
  };
}

/** Makes the answer from the response to `session/prompt` and the updates before it. */
export function fromTurn(
  response: unknown,
  updates: Updates,
  secrets: Secrets | undefined,
): ModelResponse | ModelFailure {
  const stopReason = field(response, "stopReason");
  const text = updates.text();
  const usage = usageOf(response, updates.costUsd());
  const shared = { payload: { text, response }, ...(usage === undefined ? {} : { usage }) };
  if (stopReason === "cancelled") {
    const message = "The agent gave up its turn, though it was not cancelled.";
    return { failure: "provider", reason: "unknown", message, ...shared };
  }
  const finishReason = reasons.get(stopReason);
  if (finishReason === undefined) {
    const shown = shownOf(JSON.stringify(stopReason) ?? "none", secrets);
    const message = `The agent ended its turn with an unknown reason: ${shown}.`;
    return { failure: "provider", reason: "invalid_response", message, ...shared };
  }
  const reasoning = updates.reasoning();
  return {
    message: { role: "assistant", text, toolCalls: [], ...(reasoning === "" ? {} : { reasoning }) },
    finishReason,
    ...shared,
    ...(stopReason === "refusal" ? { refusal: text === "" ? "The agent refused." : text } : {}),
  };
}

const reasons: ReadonlyMap<unknown, FinishReason> = new Map([
  ["end_turn", "stop"],
  ["refusal", "stop"],
  ["max_tokens", "length"],
  ["max_turn_requests", "length"],
]);

/**
 * Reads the usage. A session is one turn here, so its counts are the turn's. The protocol counts what came from a cache
 * beside `inputTokens`, and thoughts among `outputTokens` (https://agentclientprotocol.com/rfds/session-usage). Gemini
 * CLI has its counts in a place of its own.
 */
function usageOf(response: unknown, costUsd: number | undefined): ReportedUsage | undefined {
  const given = field(response, "usage");
  const own = field(field(field(response, "_meta"), "quota"), "token_count");
  const count = (name: string): number | undefined => countOf(field(given, name));
  const cached = count("cachedReadTokens");
  const written = count("cachedWriteTokens");
  const input = sumOf(count("inputTokens"), cached, written);
  const counts = {
    inputTokens: input ?? countOf(field(own, "input_tokens")),
    outputTokens: count("outputTokens") ?? countOf(field(own, "output_tokens")),
    totalTokens: count("totalTokens"),
    cachedInputTokens: cached,
    cacheWriteTokens: written,
    reasoningTokens: count("thoughtTokens"),
    costUsd,
  };
  const known = Object.entries(counts).filter(([, value]) => value !== undefined);
  return known.length === 0 ? undefined : Object.fromEntries(known);
}

/** undefined without the first. */
function sumOf(first: number | undefined, ...more: readonly (number | undefined)[]): number | undefined {
  return first === undefined ? undefined : more.reduce<number>((sum, count = 0) => sum + count, first);
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function costOf(cost: unknown): number | undefined {
  return field(cost, "currency") === "USD" ? countOf(field(cost, "amount")) : undefined;
}

function field(value: unknown, name: string): unknown {
  return isRecord(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
