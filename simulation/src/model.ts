import {
  parseMessages,
  type Clock,
  type Message,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type ReportedUsage,
  type ThrottleKind,
} from "@proviso/core";
import type { Book } from "./checks.ts";
import type { Random } from "./random.ts";
import { ends } from "./world.ts";

const maxOutputTokens = 40;

export interface ModelOptions {
  readonly random: Random;
  readonly clock: Clock;
  readonly book: Book;
  /** Costs are told, honestly, and bounded: a budget can reserve them. */
  readonly honest: boolean;
  /** By this its evaluations' events are told apart. */
  readonly name: string;
  /** Something will end an evaluation that it leaves without an answer. */
  readonly mayHang: boolean;
  /** Looks at the world before it answers. */
  check(): Promise<void>;
}

/** A model that does whatever models and networks do. */
export function randomModel(options: ModelOptions): ModelProvider {
  const { random, clock, book, honest } = options;
  const asked = new Map<AbortSignal, readonly Message[]>();
  let calls = 0;
  let refusing = false;
  return {
    name: options.name,
    model: "random-model",
    ...(honest ? { maxOutputTokens } : {}),
    capabilities: { tools: true, nativeOutput: true },
    async generate(request) {
      checkHistory(book, asked, request);
      await options.check();
      const kind = random.int(100);
      const usage = usageOf(random, request, honest);
      if (kind < 3 && options.mayHang) return new Promise(() => {});
      if (random.chance(0.3)) await clock.sleep(random.int(1_500), random.chance(0.5) ? request.signal : undefined);
      // Refusals come in rows.
      refusing = kind < 14 || (refusing && random.chance(0.6));
      if (refusing) return throttle(random);
      if (kind < 16) return { failure: "provider", reason: random.pick(["bad_request", "unknown"]), message: "no" };
      if (kind < 18) throw random.pick([Object.assign(new Error("reset"), { code: "ECONNRESET" }), new Error("odd")]);
      if (kind < 20) return answer("", [], random.pick(["stop", "length", "content-filter"]), usage);
      if (kind < 50 && asked.size > 0) return answer(`Done ${random.int(9)}.`, [], "stop", usage);
      const many = 1 + random.int(random.chance(0.2) ? 6 : 2);
      const twin = `${options.name}-twin-${calls}`;
      const toolCalls = Array.from({ length: many }, () => randomCall(random, `${options.name}-${++calls}`, twin));
      return answer(random.chance(0.3) ? "I work." : "", toolCalls, "tool-calls", usage);
    },
  };
}

function answer(
  text: string,
  toolCalls: ModelResponse["message"]["toolCalls"],
  finishReason: ModelResponse["finishReason"],
  usage: ReportedUsage | undefined,
): ModelResponse {
  return { message: { role: "assistant", text, toolCalls }, finishReason, usage };
}

/** LOOP-2 and LOOP-3: each history begins with the one before, and holds no call without its answer. */
function checkHistory(
  book: Book,
  asked: Map<AbortSignal, readonly Message[]>,
  { signal, messages }: ModelRequest,
): void {
  const before = asked.get(signal) ?? [];
  book.demand(
    before.every((message, index) => message === messages[index]),
    "LOOP-2 a history does not begin with the one before",
  );
  try {
    parseMessages(messages);
  } catch (error) {
    book.demand(false, `LOOP-3 a request's history is broken: ${(error as Error).message}`);
  }
  const ids = messages.flatMap((message) =>
    message.role === "assistant" ? message.toolCalls.map(({ id }) => id) : [],
  );
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    const own = message.toolCalls.map(({ id }) => id);
    book.demand(
      new Set(own).size === own.length && !own.includes(""),
      "TOOL-7 calls of a turn without an id of their own",
    );
  }
  book.demand(
    ids.every((id) => typeof id === "string"),
    "TOOL-7 a call without an id",
  );
  asked.set(signal, messages);
}

const kinds: readonly ThrottleKind[] = ["rate_limit", "server_error", "timeout", "unknown", "quota_exhausted"];

function throttle(random: Random): ModelFailure {
  const retryAfterMs = random.pick([undefined, undefined, 0, 700, 3_000, 20_000, 90_000]);
  return { failure: "throttle", kind: random.pick(kinds), retryAfterMs, message: "later" };
}

function randomCall(random: Random, id: string, twin: string): { id: string; name: string; arguments: string } {
  const name = random.pick(["write", "write", "write", "write", "look", "look", "nest", "nope", "__proto__"]);
  const given = random.chance(0.1)
    ? random.pick(["", "null", "{", "[]", '"text"', '{"__proto__":{"polluted":true}}', '{"unknown":1}'])
    : argumentsFor(random, name, id);
  const shownId = random.chance(0.06) ? random.pick(["", twin, twin]) : id;
  return { id: shownId, name, arguments: given };
}

function argumentsFor(random: Random, name: string, id: string): string {
  if (name === "look") return JSON.stringify({ ms: random.int(800), sly: random.chance(0.1) });
  if (name === "nest") return JSON.stringify({ fail: random.chance(0.3) });
  const end = random.chance(0.55) ? "ok" : random.pick(ends);
  return JSON.stringify({ id, writes: random.int(4), end });
}

function usageOf(random: Random, { messages }: ModelRequest, honest: boolean): ReportedUsage | undefined {
  const bytes = messages.reduce((sum, message) => sum + message.text.length, 0);
  const inputTokens = Math.ceil(bytes / 3) + messages.length;
  const outputTokens = random.int(maxOutputTokens + 1);
  if (honest) return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens };
  return random.pick([
    { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens },
    undefined,
    { inputTokens: -5, outputTokens: -5, totalTokens: -10 },
    { inputTokens, outputTokens: Number.NaN },
  ]);
}
