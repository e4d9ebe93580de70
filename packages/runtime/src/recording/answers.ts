// The requests and answers of a run, as its record has them.
import type { Message, ModelFailure, ModelRequest, ModelResponse } from "@proviso/core";
import { frozenJson, messageOf, toJsonValue } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import type { Difference, EntryBase, EntryOf } from "./entries.ts";
import { LazyContent } from "./kept-entry.ts";
import { messageHash, restHashes, restNames } from "./hashes.ts";

type Asked = Pick<EntryOf<"asked">, "same" | "hashes">;

/** What a request has now. */
interface AskedNow extends Asked {
  /** How many of the hashes are of messages; the others are those of `restNames`. */
  readonly messages: number;
}

/** The last request of an evaluation. */
interface LastRequest {
  readonly messages: readonly Message[];
  readonly tools: ModelRequest["tools"];
}

/** What a request has that the one before it did not have; the hashes are made where they are asked for. */
export class NewInRequest {
  readonly same: number;
  readonly #messages: readonly Message[];
  /** undefined: the tools, the choice and the output are those of the request before. */
  readonly #rest: Pick<ModelRequest, "tools" | "toolChoice" | "output"> | undefined;
  readonly #hide: ((text: string) => string) | undefined;

  constructor(
    same: number,
    messages: readonly Message[],
    rest: Pick<ModelRequest, "tools" | "toolChoice" | "output"> | undefined,
    hide: ((text: string) => string) | undefined,
  ) {
    this.same = same;
    this.#messages = messages;
    this.#rest = rest;
    this.#hide = hide;
  }

  now(): AskedNow {
    const hashes = this.#messages.map((message) => messageHash(message, this.#hide));
    const rest = this.#rest === undefined ? [] : restHashes(this.#rest, this.#hide);
    return { same: this.same, hashes: [...hashes, ...rest], messages: hashes.length };
  }
}

/** The entry of a request. */
export class AskedContent extends LazyContent {
  readonly kind = "asked";
  readonly turn: number;
  readonly try: number;
  readonly #request: NewInRequest;

  constructor(turn: number, attempt: number, request: NewInRequest) {
    super();
    this.turn = turn;
    this.try = attempt;
    this.#request = request;
  }

  plain(): Omit<EntryOf<"asked">, keyof EntryBase> {
    const { same, hashes } = this.#request.now();
    return { kind: "asked", turn: this.turn, try: this.try, same, hashes };
  }
}

const noMessages: readonly never[] = Object.freeze([]);

/** Finds what each request has that the one before it did not have. */
export class RequestHashes {
  readonly #last = new Map<string, LastRequest>();

  of(run: Run, request: ModelRequest | undefined): NewInRequest {
    if (request === undefined) return new NewInRequest(0, noMessages, undefined, undefined);
    const { messages, tools, toolChoice, output } = request;
    const last = this.#last.get(run.evaluationId);
    const hide = run.world.secrets === undefined ? undefined : run.redaction.value;
    const same = last === undefined ? 0 : sameMessages(last.messages, messages);
    const rest = last !== undefined && last.tools === tools ? undefined : { tools, toolChoice, output };
    this.#last.set(run.evaluationId, { messages, tools });
    // The whole history is not kept with each of its requests.
    return new NewInRequest(same, messages.slice(same), rest, hide);
  }

  /** Takes a request as a whole, whatever the one before had. */
  whole(run: Run, request: ModelRequest | undefined): NewInRequest {
    this.#last.delete(run.evaluationId);
    return this.of(run, request);
  }

  /** Returns where a request differs from the recorded one. */
  difference(recorded: Asked, now: AskedNow): Omit<Difference, "what"> | undefined {
    if (recorded.same !== now.same) return { path: "messages", recorded: recorded.same, now: now.same };
    const length = Math.max(recorded.hashes.length, now.hashes.length);
    for (let at = 0; at < length; at++) {
      const [before, after] = [recorded.hashes[at], now.hashes[at]];
      if (before === after) continue;
      // Three more hashes than messages are those of the rest; any other number are more messages.
      const isRest = at >= now.messages && length - now.messages === restNames.length;
      const path = isRest ? restNames[at - now.messages] : undefined;
      return { path: path ?? `messages[${now.same + at}]`, recorded: before, now: after };
    }
    return undefined;
  }
}

/** How many messages two requests begin with. A history that only grew is not looked through. */
function sameMessages(before: readonly Message[], now: readonly Message[]): number {
  const last = before.length - 1;
  if (before[0] === now[0] && before[last] === now[last]) return before.length;
  const differs = before.findIndex((message, index) => message !== now[index]);
  return differs === -1 ? before.length : differs;
}

/** An answer for the record: plain JSON without raw payloads and secrets. */
export function recordedAnswer(
  run: Run,
  given: ModelResponse | ModelFailure,
  payloads = false,
): Pick<EntryOf<"answered">, "answer" | "isRedacted"> {
  const isBare = !payloads && run.world.secrets === undefined;
  const copied = isBare ? plainAnswer(given) : undefined;
  if (copied !== undefined) return { answer: copied };
  const { payload, ...bare } = given;
  const answer = payloads && payload !== undefined ? { ...bare, payload: toJsonValue(payload)?.value } : bare;
  const shown = "cause" in answer && answer.cause !== undefined ? { ...answer, cause: causeOf(answer.cause) } : answer;
  if (run.world.secrets === undefined) {
    return { answer: (toJsonValue(shown)?.value ?? shown) as typeof shown };
  }
  const hidden = run.redaction.value(shown);
  return callsIn(hidden) === callsIn(shown) ? { answer: hidden } : { answer: hidden, isRedacted: true };
}

/**
 * An answer that has text, calls and numbers alone, as nearly all do; undefined: it has more. A copy at every depth of what
 * may be anything takes many times as long.
 */
function plainAnswer(answer: ModelResponse | ModelFailure): ModelResponse | undefined {
  if (answer.failure !== undefined) return undefined;
  const { message, finishReason, usage, model } = answer;
  if (!hasOnly(answer, answerFields) || !hasOnly(message, messageFields) || typeof message.text !== "string") {
    return undefined;
  }
  if (usage !== undefined && !areNumbers(usage)) return undefined;
  for (const call of message.toolCalls) {
    if (!hasOnly(call, callFields) || typeof call.arguments !== "string") return undefined;
  }
  // The history takes the message over in any case, and freezes it.
  const own = frozenJson(message);
  const costs = usage === undefined ? undefined : { ...usage };
  if (model !== undefined) return { message: own, finishReason, model, ...(costs && { usage: costs }) };
  return costs === undefined ? { message: own, finishReason } : { message: own, finishReason, usage: costs };
}

const answerFields: Readonly<Record<string, true>> = {
  message: true,
  finishReason: true,
  usage: true,
  model: true,
  payload: true,
};
const messageFields: Readonly<Record<string, true>> = { role: true, text: true, toolCalls: true };
const callFields: Readonly<Record<string, true>> = { id: true, name: true, arguments: true };

function hasOnly(object: object, fields: Readonly<Record<string, true>>): boolean {
  for (const key in object) {
    if (fields[key] !== true && (object as Readonly<Record<string, unknown>>)[key] !== undefined) return false;
  }
  return true;
}

/** Not NaN and not infinite, which JSON has not. */
function areNumbers(object: object): boolean {
  for (const key in object) {
    if (!Number.isFinite((object as Readonly<Record<string, unknown>>)[key])) return false;
  }
  return true;
}

/** The calls of an answer, as a text. */
function callsIn(answer: ModelResponse | ModelFailure): string {
  return answer.failure === undefined ? JSON.stringify(answer.message.toolCalls) : "";
}

function causeOf(cause: unknown): unknown {
  const { name, code } = (cause ?? {}) as { readonly name?: unknown; readonly code?: unknown };
  return {
    name: typeof name === "string" ? name : "Error",
    code: typeof code === "string" || typeof code === "number" ? code : undefined,
    message: messageOf(cause),
  };
}

/** The answer of a record, for the evaluation. */
export function answerFrom(answer: EntryOf<"answered">["answer"]): ModelResponse | ModelFailure {
  return { ...answer } as ModelResponse | ModelFailure;
}
