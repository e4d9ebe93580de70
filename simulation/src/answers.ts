import type { ModelFailure, ModelRequest, ModelResponse, ReportedUsage, ThrottleKind } from "@proviso/core";
import { ends, steps } from "./tools.ts";
import type { Random } from "./random.ts";
import type { Intent } from "./registry.ts";

export const maxOutputTokens = 40;

/** What a random model may do. */
export interface Manner {
  readonly random: Random;
  /** Costs are told, honestly, and bounded: a budget can reserve them. */
  readonly honest: boolean;
  /** Something ends what hangs. */
  readonly mayHang: boolean;
  /** A structured answer that fits. */
  readonly output: "text" | "object" | "list" | "number";
  /** By this its calls are told apart. */
  readonly name: string;
}

export interface Answer {
  readonly intent: Intent;
  /** Returned as it is, however odd. */
  readonly answer?: unknown;
  readonly throws?: unknown;
  readonly usage?: ReportedUsage | undefined;
}

/** Refusals, thrown errors and answers that are none. */
export function badAnswer({ random }: Manner, usage: ReportedUsage | undefined): Answer {
  const refused = (reason: string, answer: unknown): Answer => ({ intent: { kind: "refused", reason }, answer, usage });
  switch (random.int(8)) {
    case 0: {
      const reason = random.pick(["bad_request", "api_key", "unknown"] as const);
      const charged = random.chance(0.2) ? { usage } : {};
      return {
        ...refused(reason, { failure: "provider", reason, message: "no", ...charged }),
        usage: undefined,
        ...charged,
      };
    }
    case 1:
      return {
        intent: { kind: "throttle" },
        throws: random.pick([
          Object.assign(new Error("reset"), { code: "ECONNRESET" }),
          new TypeError("fetch failed"),
          Object.assign(new Error("slow"), { name: "TimeoutError" }),
        ]),
      };
    case 2:
      return {
        intent: { kind: "refused", reason: "unknown" },
        throws: random.pick([new Error("odd"), "a text", undefined, Object.create(null), new TypeError("x is not y")]),
      };
    case 3:
      return refused("truncated", answer("Half an", [], "length", usage));
    case 4:
      return refused("content_filter", answer("", [], "content-filter", usage));
    case 5:
      return refused("refusal", { ...answer("", [], "stop", usage), refusal: "I will not." });
    case 6:
      return refused("invalid_response", answer(random.pick(["", " \n"]), [], "stop", usage));
    default:
      return { ...refused("invalid_response", malformed(random)), usage: {} };
  }
}

function malformed(random: Random): unknown {
  return random.pick<unknown>([
    undefined,
    null,
    "Done.",
    [],
    {},
    { message: null },
    { message: { role: "assistant", text: 5, toolCalls: [] } },
    { message: { role: "assistant", text: "Done." } },
    { message: { role: "assistant", text: "", toolCalls: [null] } },
    { message: { role: "assistant", text: "", toolCalls: [{ id: "a", arguments: "{}" }] } },
    { failure: "odd", message: "what" },
    { failure: "throttle", kind: "rate_limit" },
  ]);
}

const kinds: readonly ThrottleKind[] = [
  "rate_limit",
  "server_error",
  "timeout",
  "network",
  "unknown",
  "quota_exhausted",
];

/** Please come back later. */
export function throttle({ random }: Manner, usage: ReportedUsage | undefined): Answer {
  const charged = random.chance(0.15) ? { usage } : {};
  const failure: ModelFailure = {
    failure: "throttle",
    kind: random.pick(kinds),
    retryAfterMs: random.pick([undefined, undefined, 0, 0.5, 380, 700, 3_000, 20_000, 90_000]),
    message: "later",
    ...charged,
  };
  return { intent: { kind: "throttle" }, answer: failure, ...charged };
}

/** A text, or an output that fits or does not. */
export function finalAnswer(manner: Manner, hasOutput: boolean, usage: ReportedUsage | undefined): Answer {
  const { random, output } = manner;
  const n = random.int(90);
  const tags = Array.from({ length: random.int(3) }, (_, index) => `t${index}`);
  const right = { text: `Done ${n}.`, object: { n, tags }, list: tags, number: n }[output];
  const wrapped = { text: right, object: right, list: { items: right }, number: { value: right } }[output];
  const final = (text: string, value: unknown, fits: boolean, more: object = {}): Answer => ({
    intent: { kind: "final", text, value, fits },
    answer: { ...answer(text, [], "stop", usage), ...more },
    usage,
  });
  if (!hasOutput || output === "text") return final(`Done ${n}.`, `Done ${n}.`, true);
  const json = JSON.stringify(random.pick([right, wrapped]));
  switch (random.int(8)) {
    case 0:
      return final(json, right, true);
    case 6:
      // A number or a text would not be told from the words around it.
      return final(/^[[{]/.test(json) ? `Here it is: ${json} That is all.` : json, right, true);
    case 1:
      return final(`Here:\n\`\`\`json\n${json}\n\`\`\`\nDone.`, right, true);
    case 2:
      return final("Native.", right, true, { parsed: wrapped });
    case 3:
      return final(json, undefined, false, { parsed: { wrong: true } });
    case 4:
      return final("No JSON at all.", undefined, false);
    case 5:
      return final(`\`\`\`json\n{"n": \n\`\`\``, undefined, false);
    default:
      return final(JSON.stringify({ n: "many", tags: [], more: 1 }), undefined, false);
  }
}

function answer(
  text: string,
  toolCalls: ModelResponse["message"]["toolCalls"],
  finishReason: ModelResponse["finishReason"],
  usage: ReportedUsage | undefined,
  providerItems?: unknown,
): ModelResponse {
  const items = providerItems === undefined ? {} : { providerItems };
  return { message: { role: "assistant", text, toolCalls, ...items }, finishReason, usage };
}

interface Call {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Calls of what there is and what there is not, with arguments right, wrong and hostile. */
export function callAnswer(
  manner: Manner,
  { tools }: ModelRequest,
  newId: () => string,
  usage: ReportedUsage | undefined,
): Answer {
  const { random, name } = manner;
  const many = 1 + random.int(random.chance(0.25) ? 6 : 2);
  const twin = `${name}-twin`;
  const offered = tools.map((tool) => tool.name);
  const toolCalls = Array.from({ length: many }, (): Call => {
    const id = newId();
    const tool = random.chance(0.06) ? random.pick(["nope", "__proto__", "toString", ""]) : random.pick(offered);
    const shown = random.chance(0.06) ? random.pick<string>(["", undefined as never, 7 as never, twin, twin]) : id;
    return { id: shown, name: tool ?? "nope", arguments: argumentsFor(manner, tool ?? "nope", id) };
  });
  const items = random.chance(0.15) ? [{ type: "reasoning", id: newId() }] : undefined;
  const text = random.chance(0.3) ? "I work." : "";
  return { intent: { kind: "calls" }, answer: answer(text, toolCalls, "tool-calls", usage, items), usage };
}

const hostile = [
  "",
  "null",
  "{",
  "[]",
  '"text"',
  "5",
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"unknown":1}',
  `${'{"id":'.repeat(70)}1${"}".repeat(70)}`,
  '{"id":"\ud800","end":"ok"}',
];

function argumentsFor({ random, mayHang }: Manner, tool: string, id: string): string {
  if (random.chance(0.08)) return random.pick(hostile);
  switch (tool) {
    case "look":
    case "peek":
      return JSON.stringify({
        ms: random.pick([0, 0, 20, random.int(800)]),
        sly: random.chance(0.08),
        inside: random.chance(0.08) ? random.pick(["await", "swallow", "leave"]) : "",
        end: random.chance(0.08) ? "throw" : "ok",
      });
    case "nest":
      return JSON.stringify({
        how: random.pick(["await", "await", "both", "swallow", "leave"]),
        fail: random.chance(0.25),
        narrow: random.chance(0.3) ? random.pick(["deadline", "budget", "turns"]) : "",
      });
    case "open_sections":
      return JSON.stringify({ keys: [random.chance(0.8) ? "more" : "less"], reason: "to see" });
    case "read_section":
      return JSON.stringify({ key: "more" });
    default: {
      const wanted = Array.from({ length: random.int(5) }, () => ({ do: random.pick(steps), n: random.int(10) }));
      const end = random.chance(0.55) ? "ok" : random.pick(ends);
      const endless = end === "hang" || end === "honour";
      return JSON.stringify({ id, steps: wanted, end: endless && tool !== "write" && !mayHang ? "throw" : end });
    }
  }
}

/** Numbers that bound what is sent; or, of a dishonest provider, anything. */
export function usageOf({ random, honest }: Manner, { messages }: ModelRequest): ReportedUsage | undefined {
  const characters = messages.reduce((sum, message) => sum + message.text.length, 0);
  // Fewer than are reserved for them: what bounds an honest model is an estimate (LIM-11).
  const inputTokens = Math.ceil(characters / (honest ? 8 : 3)) + messages.length;
  const outputTokens = random.int(maxOutputTokens + 1);
  const totalTokens = inputTokens + outputTokens;
  if (honest) return { inputTokens, outputTokens, totalTokens };
  return random.pick<ReportedUsage | undefined>([
    { inputTokens, outputTokens, totalTokens },
    { inputTokens, outputTokens, totalTokens, costUsd: 0.01 },
    { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    undefined,
    { inputTokens: -5, outputTokens: -5, totalTokens: -10, costUsd: -1 },
    { inputTokens, outputTokens: Number.NaN },
    { inputTokens: "many" as never, outputTokens: Infinity },
  ]);
}
