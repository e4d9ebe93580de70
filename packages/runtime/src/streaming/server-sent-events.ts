import {
  DefinitionError,
  isEvaluationFailure,
  RunError,
  systemClock,
  type Clock,
  type EvaluationStream,
  type StreamEvent,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue, setAlarm, toJsonValue } from "@proviso/core/internal";

/** One message to a browser, as `EventSource` receives it. */
export interface ServerSentEvent {
  /** The name that the page listens to; one line. */
  readonly event: string;
  /** The data; it is sent as JSON. Left out: null. */
  readonly data?: unknown;
}

/** What a browser is shown of an evaluation, and how its connection is kept open. */
export interface ServerSentEventOptions<Output> {
  /**
   * Chooses what is sent of an event; undefined: nothing. Prompts, params and results of tools are events too: send only
   * what any visitor of the page may read. Default: `turn` with `{ turn }` where a turn begins, `text` and `partial` with
   * the answer so far, `reasoning` with the model's thoughts, and `reset` with `{ turn }`: what was shown of this turn, and
   * of any after it, is dropped.
   */
  readonly show?: ((event: StreamEvent<Output>) => ServerSentEvent | undefined) | undefined;
  /** Milliseconds without anything sent after which a comment keeps the connection open. Default 15,000. */
  readonly heartbeatMs?: number | undefined;
  /** Time and timers. Default: the system's. */
  readonly clock?: Clock | undefined;
}

const optionNames = { show: true, heartbeatMs: true, clock: true } as const;
const defaultHeartbeatMs = 15_000;

/**
 * Makes the body of a response with `content-type: text/event-stream` of an evaluation's stream. What `show` chooses is
 * sent as it happens; the last message is `done` with the output, or `failed` with the error's code, and of a run that
 * cannot go on its reason ("suspended": it waits for a decision), and nothing else. While the browser does not read,
 * nothing is sent, and the evaluation goes on. When the browser leaves, the evaluation is aborted.
 * Source of the format: HTML Living Standard, "Server-sent events".
 * @throws {DefinitionError} for a stream that is none or has a reader, and a heartbeat that is not positive.
 */
export function serverSentEvents<Output>(
  stream: EvaluationStream<Output>,
  options: ServerSentEventOptions<Output> = {},
): ReadableStream<Uint8Array<ArrayBuffer>> {
  checkOptionNames("serverSentEvents", options, optionNames);
  const { show = showingByDefault(), heartbeatMs = defaultHeartbeatMs, clock = systemClock } = options;
  if (!(heartbeatMs > 0)) {
    throw new DefinitionError(`serverSentEvents: heartbeatMs must be positive, not ${describeValue(heartbeatMs)}.`);
  }
  if (typeof (stream as Partial<EvaluationStream<Output>> | undefined)?.[Symbol.asyncIterator] !== "function") {
    throw new DefinitionError(`serverSentEvents needs what adapter.stream returns, not ${describeValue(stream)}.`);
  }
  const messages = messagesOf(stream, show);
  const encoder = new TextEncoder();
  let stopHeartbeat = (): void => {};
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      async pull(controller) {
        const send = (text: string): void => controller.enqueue(encoder.encode(text));
        const keepOpen = (): void => {
          stopHeartbeat = setAlarm(clock, heartbeatMs, () => {
            send(": the evaluation goes on\n\n");
            keepOpen();
          });
        };
        keepOpen();
        try {
          const message = await messages.next();
          send(message.text);
          if (message.isLast) controller.close();
        } catch (error) {
          // `show` threw: the evaluation has no reader any more, and nothing is sent.
          stopHeartbeat();
          controller.error(error);
          await messages.leave();
        } finally {
          stopHeartbeat();
        }
      },
      async cancel() {
        stopHeartbeat();
        await messages.leave();
      },
    },
    // One message waits at most: a browser that does not read makes the evaluation's own queue merge deltas.
    { highWaterMark: 1 },
  );
}

interface SentMessage {
  readonly text: string;
  readonly isLast: boolean;
}

interface Messages {
  /** The next message that is shown. */
  next(): Promise<SentMessage>;
  /** Aborts the evaluation: its reader has left. */
  leave(): Promise<void>;
}

function messagesOf<Output>(
  stream: EvaluationStream<Output>,
  show: (event: StreamEvent<Output>) => ServerSentEvent | undefined,
): Messages {
  const events = stream[Symbol.asyncIterator]();
  let executed: StreamEvent<Output> | undefined;
  return {
    async next() {
      for (;;) {
        const next = await events.next().catch(() => undefined);
        if (next === undefined || next.done === true) return lastMessage(stream.response, executed);
        if (next.value.type === "prompt.executed") executed = next.value;
        const shown = show(next.value);
        if (shown !== undefined) return { text: written(shown), isLast: false };
      }
    },
    async leave() {
      await events.return?.();
    },
  };
}

/** `executed`: undefined where the answer is that of a run that had ended, which has no events. */
async function lastMessage(
  response: Promise<{ readonly output: unknown }>,
  executed: StreamEvent | undefined,
): Promise<SentMessage> {
  try {
    // The caller's own output may show a secret, and may have no JSON.
    const { output } = await response;
    const data = executed?.type === "prompt.executed" ? executed.output : toJsonValue(output)?.value;
    return { text: written({ event: "done", data }), isLast: true };
  } catch (error) {
    // A message may quote the prompt: the code is enough for a page, and of a run whether it waits for a person.
    const code = isEvaluationFailure(error) ? error.code : "internal";
    const data = error instanceof RunError ? { code, reason: error.reason } : { code };
    return { text: written({ event: "failed", data }), isLast: true };
  }
}

/** @throws {DefinitionError} for a name that is not one line: it would become fields of its own. */
function written({ event, data = null }: ServerSentEvent): string {
  if (typeof event !== "string" || !/^[^\r\n]+$/.test(event)) {
    throw new DefinitionError(`A server-sent event needs a name of one line, not ${describeValue(event)}.`);
  }
  // JSON has no word for a function: it is sent as null, as in a list.
  return `event: ${event}\ndata: ${JSON.stringify(data) ?? "null"}\n\n`;
}

function showingByDefault(): (event: StreamEvent) => ServerSentEvent | undefined {
  let turn = 0;
  return (event) => {
    if (event.type === "text.delta") return { event: "text", data: event.text };
    if (event.type === "reasoning.delta") return { event: "reasoning", data: event.text };
    if (event.type === "output.delta") return { event: "partial", data: event.partial };
    if (event.type === "text.reset") return { event: "reset", data: { turn: event.turn } };
    // All turns so far are undone.
    if (event.type === "evaluation.restarted") return { event: "reset", data: { turn: 1 } };
    // A request that is repeated is of the same turn.
    if (event.type !== "provider.requested" || event.turn === turn) return undefined;
    ({ turn } = event);
    return { event: "turn", data: { turn } };
  };
}
