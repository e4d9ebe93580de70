import {
  isEvaluationFailure,
  parseMessages,
  systemClock,
  type EvaluateOptions,
  type EvaluationFailure,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type Session,
  type SessionEvent,
} from "@proviso/core";
import { expect } from "vitest";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import type {
  ConformanceOptions,
  ConformanceRequest,
  ConformanceScript,
  ConformanceSettings,
  Connection,
} from "./script.ts";

export type Way = "evaluate" | "stream";

/** A rule's case: played once with `evaluate` and once with `stream`, unless it says which. */
export interface ConformanceCase {
  /** Begins with the ids of its rules. */
  readonly title: string;
  readonly way?: Way | undefined;
  run(bench: Bench): Promise<void>;
}

export interface Played<Output> {
  readonly response: PromptResponse<Output> | undefined;
  readonly error: EvaluationFailure | undefined;
  readonly events: readonly SessionEvent[];
  readonly requests: readonly ConformanceRequest[];
  readonly session: Session;
}

export interface Bench {
  readonly way: Way;
  /** Evaluates over a new wire, and checks what holds of every evaluation. */
  play<Output>(script: ConformanceScript, prompt: Prompt<Output>, options?: EvaluateOptions): Promise<Played<Output>>;
  /** A wire of the case's own, closed after it. */
  open<T>(
    script: ConformanceScript,
    use: (connection: Connection) => Promise<T>,
    more?: Pick<ConformanceSettings, "journal">,
  ): Promise<T>;
  /** The case cannot be played, and shows why. */
  skip(why: string): void;
}

export const apiKey = "sk-conformance-0123456789abcdef";

export function benchOf(options: ConformanceOptions, way: Way, skip: (why: string) => void = () => {}): Bench {
  const open: Bench["open"] = async (script, use, more = {}) => {
    const connection = await options.start(script, { apiKey, random: () => 0, ...more });
    try {
      return await use(connection);
    } finally {
      await connection.close();
    }
  };
  return {
    way,
    open,
    skip,
    play: (script, prompt, given = {}) =>
      open(script, async ({ adapter, requests }) => {
        const session = given.session ?? createSession({ id: "conformance" });
        const events = recordEvents(session);
        const ended = await outcomeOf(ask(adapter, prompt, { ...given, session }, way));
        const played = { ...ended, events, requests: [...requests()], session };
        checkAlways(played);
        return played;
      }),
  };
}

/** The response, by the way that is under test; a stream is read to its end. */
export async function ask<Output>(
  adapter: ProviderAdapter,
  prompt: Prompt<Output>,
  options: EvaluateOptions,
  way: Way,
): Promise<PromptResponse<Output>> {
  if (way === "evaluate") return adapter.evaluate(prompt, options);
  const stream = adapter.stream(prompt, options);
  for await (const _ of stream) continue;
  return stream.response;
}

async function outcomeOf<Output>(
  asked: Promise<PromptResponse<Output>>,
): Promise<Pick<Played<Output>, "response" | "error">> {
  try {
    return { response: await asked, error: undefined };
  } catch (error) {
    // ERR-1: nothing else comes out.
    if (!isEvaluationFailure(error)) throw error;
    return { response: undefined, error };
  }
}

function checkAlways({ response, error, events }: Played<unknown>): void {
  const messages = response?.messages ?? error?.messages ?? [];
  expect(parseMessages(JSON.parse(JSON.stringify(messages))), "LOOP-3 a valid history").toHaveLength(messages.length);
  const shown = [JSON.stringify(events), error === undefined ? "" : everythingIn(error)].join("\n");
  expect(shown.includes(apiKey), "SEC-1 the key is in an event or error").toBe(false);
  expect(Object.keys(Object.prototype), "SEC-3 Object.prototype").toEqual([]);
  const seqs = events.flatMap((event) => ("seq" in event ? [Number(event.seq)] : []));
  expect(seqs, "EVT-2 numbers without a gap").toEqual(seqs.map((_, index) => (seqs[0] ?? 0) + index));
}

/** An error with all its causes and payloads, as a logger would show it. */
function everythingIn(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify(error) ?? "";
  const own = Object.getOwnPropertyNames(error).map((key) => {
    const value = (error as unknown as Record<string, unknown>)[key];
    return value instanceof Error ? everythingIn(value) : safely(value);
  });
  return [error.message, error.stack, ...own].join("\n");
}

function safely(value: unknown): string {
  try {
    return JSON.stringify(value) ?? "";
  } catch {
    return "";
  }
}

export function answered<Output>({ response, error }: Played<Output>): PromptResponse<Output> {
  if (response === undefined) throw new Error(`The evaluation failed: ${error?.message}`, { cause: error });
  return response;
}

/** "throttled: rate_limit", "provider: refusal", "deadline". */
export function whyOf({ response, error }: Played<unknown>): string {
  if (error === undefined) return `answered: ${JSON.stringify(response?.output)}`;
  if (error.code === "throttled") return `throttled: ${error.kind}`;
  return error.code === "provider" ? `provider: ${error.reason}` : error.code;
}

export function eventsOf<Type extends SessionEvent["type"]>(
  { events }: Pick<Played<unknown>, "events">,
  type: Type,
): readonly Extract<SessionEvent, { readonly type: Type }>[] {
  return events.filter((event): event is Extract<SessionEvent, { readonly type: Type }> => event.type === type);
}

/**
 * Does it settle before so many milliseconds are over? They are counted in ten steps of the loop that it runs on: where
 * a busy machine keeps the loop from running for long, that is one step.
 */
export async function settlesWithin(ms: number, asked: Promise<unknown>): Promise<boolean> {
  const settled = asked.then(
    () => true,
    () => true,
  );
  const over = async (): Promise<false> => {
    for (let step = 0; step < 10; step++) await systemClock.sleep(ms / 10);
    return false;
  };
  return Promise.race([settled, over()]);
}

export interface SentTurn {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  readonly calls: readonly string[];
}

/** Returns a request's turns without the system text; several assistant messages in a row are one turn. */
export function turnsOf({ messages }: ConformanceRequest): readonly SentTurn[] {
  const turns: SentTurn[] = [];
  for (const { role, text, toolCalls = [], callId } of messages) {
    if (role === "system") continue;
    const calls =
      role === "tool" ? [callId ?? ""] : toolCalls.map((call) => `${call.id} ${call.name} ${call.arguments}`);
    const last = turns.at(-1);
    if (role !== "assistant" || last?.role !== "assistant") turns.push({ role, text, calls });
    else turns[turns.length - 1] = { role, text: last.text + text, calls: [...last.calls, ...calls] };
  }
  return turns;
}

export function systemOf({ system, messages }: ConformanceRequest): string {
  const texts = messages.filter(({ role }) => role === "system").map(({ text }) => text);
  return [system ?? "", ...texts.filter((text) => text !== system)].filter((text) => text !== "").join("\n\n");
}
