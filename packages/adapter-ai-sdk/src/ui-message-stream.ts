import {
  DefinitionError,
  isEvaluationFailure,
  type EvaluationStream,
  type FileRef,
  type PromptResponse,
  type ProviderResponded,
  type Source,
  type StreamEvent,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { PageCalls } from "./page-calls.ts";
import { eventsOf } from "./whole-answer.ts";
import type { UIMessageStreamChunk } from "./ui-message-chunk.ts";

/** What a page is shown of an evaluation. */
export interface UIMessageStreamOptions {
  /** The id of the message, for a page that keeps its messages by ids. Default: the page makes one. */
  readonly messageId?: string | undefined;
  /**
   * Whether the page gets tool calls, with their arguments, results and progress: any visitor of the page may read them
   * then. Default true.
   */
  readonly tools?: boolean | undefined;
  /**
   * Whether the page gets the text of the answer. A structured output comes as `data-output` and is the text as well, as
   * raw JSON: false leaves that out. Default true.
   */
  readonly text?: boolean | undefined;
  /**
   * Where the page gets a file that the model made, "/files/" and its hash for example, from a route that reads your
   * `Blobs`; undefined: it is not shown. Default: a file with an address of its own has that, others are not shown.
   */
  readonly fileUrl?: ((file: FileRef) => string | undefined) | undefined;
  /** The text that the page gets of a failure. Default: the error's code alone, because a message may quote the prompt. */
  readonly onError?: ((error: unknown) => string) | undefined;
}

const optionNames = { messageId: true, tools: true, text: true, fileUrl: true, onError: true } as const;

/**
 * Makes the stream that a page with the AI SDK's `useChat` reads: give it to `createUIMessageStreamResponse({ stream })` of
 * the package `ai`. A turn is a step; text, thoughts, tool calls with their state, sources, files, a structured output
 * (`data-output`, each time anew) and failures arrive as they happen. Where a request, or the whole evaluation, is repeated
 * after text was sent, the text that was sent stays a part of its own, because the protocol cannot take text back; a
 * transient `data-reset` names each such part. Of a run that has ended the message holds its whole answer, without the
 * calls that the provider ran; of one that goes on, what happens from there on. When the reader leaves, the evaluation is aborted.
 * @example
 * ```ts
 * import { toUIMessageStream } from "@proviso/adapter-ai-sdk";
 * import { definePrompt } from "@proviso/core";
 * import { modelAdapter } from "@proviso/runtime";
 * import { scriptedModel } from "@proviso/runtime/testing";
 *
 * const ask = definePrompt({ key: "ask", text: "Say hello." });
 * const stream = toUIMessageStream(modelAdapter(scriptedModel([{ text: "Hello." }])).stream(ask.bind()));
 * const types: string[] = [];
 * for await (const chunk of stream) types.push(chunk.type);
 * console.log(types.slice(0, 4).join()); // start,start-step,text-start,text-delta
 * ```
 * @throws {DefinitionError} for what is no stream of an evaluation, and for an unknown option.
 */
export function toUIMessageStream<Output>(
  stream: EvaluationStream<Output>,
  options: UIMessageStreamOptions = {},
): ReadableStream<UIMessageStreamChunk> {
  checkOptionNames("toUIMessageStream", options, optionNames);
  if (typeof (stream as Partial<EvaluationStream<Output>> | undefined)?.[Symbol.asyncIterator] !== "function") {
    throw new DefinitionError(`toUIMessageStream needs what adapter.stream returns, not ${describeValue(stream)}.`);
  }
  const events = stream[Symbol.asyncIterator]();
  const message = new PageMessage(options);
  return new ReadableStream<UIMessageStreamChunk>(
    {
      start: (controller) => controller.enqueue(message.begin()),
      async pull(controller) {
        try {
          // A pull that enqueues nothing is not asked again.
          for (let sent = 0; sent === 0;) {
            const next = await events.next().catch(() => undefined);
            const isOver = next === undefined || next.done === true;
            const chunks = isOver ? message.end(await outcomeOf(stream.response)) : message.chunksOf(next.value);
            for (const chunk of chunks) controller.enqueue(chunk);
            if (isOver) return controller.close();
            sent = chunks.length;
          }
        } catch (error) {
          // `fileUrl` or `onError` threw: the evaluation has no reader any more.
          controller.error(error);
          await events.return?.();
        }
      },
      async cancel() {
        await events.return?.();
      },
    },
    { highWaterMark: 1 },
  );
}

type Outcome = { readonly error: unknown } | { readonly response: PromptResponse<unknown> };

async function outcomeOf(response: Promise<PromptResponse<unknown>>): Promise<Outcome> {
  return response.then(
    (answer) => ({ response: answer }),
    (error: unknown) => ({ error }),
  );
}

/** What was sent of one message so far. */
class PageMessage {
  readonly #messageId: string | undefined;
  /** undefined: calls are not shown. */
  readonly #calls: PageCalls | undefined;
  readonly #onError: (error: unknown) => string;
  #turn = 0;
  readonly #showsText: boolean;
  readonly #fileUrl: (file: FileRef) => string | undefined;
  readonly #parts = { text: 0, reasoning: 0 };
  /** The parts that are valid, with the turn that each was begun in. */
  readonly #valid = new Map<string, number>();
  #sources = 0;
  /** The part of the text, or of the thoughts, that is open. */
  #open: { readonly kind: "text" | "reasoning"; readonly id: string } | undefined;

  constructor(options: UIMessageStreamOptions) {
    const { messageId, tools = true, text = true, fileUrl = addressOf, onError = codeOf } = options;
    this.#showsText = text;
    this.#fileUrl = fileUrl;
    this.#messageId = messageId;
    this.#calls = tools ? new PageCalls() : undefined;
    this.#onError = onError;
  }

  begin(): UIMessageStreamChunk {
    return this.#messageId === undefined ? { type: "start" } : { type: "start", messageId: this.#messageId };
  }

  chunksOf(event: StreamEvent): readonly UIMessageStreamChunk[] {
    const { type } = event;
    if (type === "provider.requested") return this.#step(event.turn);
    if (type === "text.delta") return this.#showsText ? this.#delta("text", event.text) : [];
    if (type === "reasoning.delta") return this.#delta("reasoning", event.text);
    if (type === "text.reset") return this.#reset();
    if (type === "output.delta") return [{ type: "data-output", id: "output", data: event.partial }];
    if (type === "provider.responded") return [...this.#close(), ...this.#beside(event)];
    if (type === "evaluation.restarted") return this.#restart();
    return this.#calls?.chunksOf(event) ?? [];
  }

  end(outcome: Outcome): readonly UIMessageStreamChunk[] {
    if ("response" in outcome) {
      // Nothing was asked for: the answer comes from the record of a run that had ended.
      const whole = this.#turn > 0 ? [] : eventsOf(outcome.response).flatMap((event) => this.chunksOf(event));
      return [...whole, ...this.#close(), { type: "finish-step" }, { type: "finish" }];
    }
    const open = this.#close();
    const { error } = outcome;
    const isAborted = isEvaluationFailure(error) && error.code === "aborted";
    return [...open, isAborted ? { type: "abort" } : { type: "error", errorText: this.#onError(error) }];
  }

  #step(turn: number): readonly UIMessageStreamChunk[] {
    // A request that is repeated is the same step.
    if (turn === this.#turn) return [];
    const before: readonly UIMessageStreamChunk[] = this.#turn === 0 ? [] : [{ type: "finish-step" }];
    this.#turn = turn;
    return [...before, { type: "start-step" }];
  }

  #delta(kind: "text" | "reasoning", delta: string): readonly UIMessageStreamChunk[] {
    if (this.#open?.kind === kind) return [{ type: `${kind}-delta`, id: this.#open.id, delta }];
    const id = `${kind}-${++this.#parts[kind]}`;
    const before = this.#close();
    this.#open = { kind, id };
    this.#valid.set(id, this.#turn);
    return [...before, { type: `${kind}-start`, id }, { type: `${kind}-delta`, id, delta }];
  }

  /** Takes back what the request of this turn has shown: it is made again. */
  #reset(): readonly UIMessageStreamChunk[] {
    const ofTurn = [...this.#valid].filter(([, turn]) => turn === this.#turn);
    return [...this.#close(), ...ofTurn.map(([id]) => this.#taken(id))];
  }

  /** Takes back all that was shown: the evaluation begins again. */
  #restart(): readonly UIMessageStreamChunk[] {
    return [...this.#close(), ...[...this.#valid.keys()].map((id) => this.#taken(id))];
  }

  #taken(id: string): UIMessageStreamChunk {
    this.#valid.delete(id);
    return { type: "data-reset", data: { id }, transient: true };
  }

  /** What an answer has beside its text. */
  #beside({ sources = [], files = [] }: ProviderResponded): readonly UIMessageStreamChunk[] {
    const shown = files.flatMap((file): readonly UIMessageStreamChunk[] => {
      const url = this.#fileUrl(file);
      return url === undefined ? [] : [{ type: "file", url, mediaType: file.mediaType }];
    });
    return [...sources.map((source) => sourceChunk(source, `source-${++this.#sources}`)), ...shown];
  }

  #close(): readonly UIMessageStreamChunk[] {
    const open = this.#open;
    this.#open = undefined;
    return open === undefined ? [] : [{ type: `${open.kind}-end`, id: open.id }];
  }
}

function addressOf(file: FileRef): string | undefined {
  return file.kind === "link" ? file.url : undefined;
}

function sourceChunk({ kind, url, title, fileName }: Source, sourceId: string): UIMessageStreamChunk {
  if (kind === "url" && url !== undefined) {
    return { type: "source-url", sourceId, url, ...(title === undefined ? {} : { title }) };
  }
  const filename = fileName === undefined ? {} : { filename: fileName };
  return { type: "source-document", sourceId, mediaType: "application/octet-stream", title: title ?? "", ...filename };
}

function codeOf(error: unknown): string {
  return isEvaluationFailure(error) ? error.code : "internal";
}
