// The requests and answers of a run, as its record has them.
import type { Message, ModelFailure, ModelRequest, ModelResponse } from "@proviso/core";
import { messageOf, shortHash, toJsonValue } from "@proviso/core/internal";
import { takeUpFiles, withGenerated } from "../content/files-of.ts";
import { isFailure } from "../failures.ts";
import { internalsOf } from "../nested/adapter-internals.ts";
import type { Run } from "../run.ts";
import { placeOf } from "../tools/idempotency-key.ts";
import type { Difference, EntryOf } from "./entries.ts";
import { messageHash, restHashes, restNames, textHash } from "./hashes.ts";

type Asked = Pick<EntryOf<"asked">, "same" | "hashes">;

/** What a request has now. */
interface AskedNow extends Asked {
  /** How many of the hashes are of messages; the others are those of `restNames`. */
  readonly messages: number;
}

/** The last request of an evaluation. */
interface LastRequest {
  readonly messages: readonly Message[];
  /** The hash of each message with all before it. */
  readonly sums: string[];
  readonly tools: ModelRequest["tools"];
  readonly rest: readonly string[];
}

/** Makes the hashes of each request: of what the request before did not have. */
export class RequestHashes {
  readonly #last = new Map<string, LastRequest>();

  of(run: Run, request: ModelRequest | undefined): AskedNow {
    if (request === undefined) return { same: 0, hashes: [], messages: 0 };
    const { tools } = request;
    const messages = run.files?.messagesBefore(request) ?? request.messages;
    const last = this.#last.get(run.evaluationId);
    const hide = run.world.secrets === undefined ? undefined : (text: string): string => run.redaction.value(text);
    const same = last === undefined ? 0 : sameMessages(last.messages, messages);
    const hashes = messages.slice(same).map((message) => messageHash(message, hide));
    const isSameRest = last !== undefined && last.tools === tools;
    const rest = isSameRest ? last.rest : restHashes(request, hide);
    const sums = run.isInside ? sumsOf(last?.sums ?? [], same, hashes) : [];
    this.#last.set(run.evaluationId, { messages, tools, rest, sums });
    return { same, hashes: isSameRest ? hashes : [...hashes, ...rest], messages: hashes.length };
  }

  /** What the last request of an evaluation was, and where that stands. */
  key(run: Run): string | undefined {
    const last = this.#last.get(run.evaluationId);
    if (last === undefined) return undefined;
    const { name } = run.adapter;
    const model = internalsOf(run.adapter)?.facts.model;
    return shortHash([placeOf(run), run.turn, name, model ?? null, last.sums.at(-1) ?? null, last.rest]);
  }

  /** The hashes of all that a request has, whatever the one before had. */
  whole(run: Run, request: ModelRequest | undefined): AskedNow {
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

/** Each hash with those before it; the list is gone on with. */
function sumsOf(sums: string[], same: number, hashes: readonly string[]): string[] {
  sums.length = same;
  for (const hash of hashes) sums.push(textHash(`${sums.at(-1) ?? ""} ${hash}`));
  return sums;
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
  const { payload, ...bare } = given;
  const answer = payloads && payload !== undefined ? { ...bare, payload: toJsonValue(payload)?.value } : bare;
  const shown = "cause" in answer && answer.cause !== undefined ? { ...answer, cause: causeOf(answer.cause) } : answer;
  if (run.world.secrets === undefined) return { answer: (toJsonValue(shown)?.value ?? shown) as typeof shown };
  const hidden = run.redaction.value(shown);
  return callsIn(hidden) === callsIn(shown) ? { answer: hidden } : { answer: hidden, isRedacted: true };
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

/** An answer whose files are stored, so that it can be kept; a failure where they cannot be. */
export async function storedAnswer(run: Run, answer: ModelResponse): Promise<ModelResponse | ModelFailure> {
  const { generated: _bytes, ...rest } = answer;
  const message = await withGenerated(run, answer);
  if (!isFailure(message)) return { ...rest, message };
  const { message: why, cause } = message;
  return { failure: "provider", reason: "invalid_response", message: why, usage: answer.usage, cause };
}

/** The answer of a record, and what the model made in it. */
export function answerAgain(
  run: Run,
  given: EntryOf<"answered">["answer"],
): ModelResponse | ModelFailure | Promise<ModelResponse | ModelFailure> {
  const answer = answerFrom(given);
  const files = answer.failure === undefined ? answer.message.files : undefined;
  return files === undefined ? answer : takeUpFiles(run, files).then(() => answer);
}

/** The answer of a record, for the evaluation. */
function answerFrom(answer: EntryOf<"answered">["answer"]): ModelResponse | ModelFailure {
  return { ...answer } as ModelResponse | ModelFailure;
}
