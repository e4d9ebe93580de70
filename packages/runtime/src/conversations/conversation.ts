// 1. Session and messages always agree: the messages go on with each evaluation, with a failed one too.
// 2. One evaluation at a time. While it runs nothing is saved and no messages are put in place: the session may be in the
//    middle of a call, and the messages are those from before the turn.
// 3. After its function has returned or thrown, nothing begins. Once what was under way has settled, nothing is done at all:
//    what is saved then is what there is.
import {
  DefinitionError,
  isEvaluationFailure,
  parseMessages,
  RevokedError,
  type EvaluateOptions,
  type EvaluationStream,
  type Message,
  type Prompt,
  type OutputOf,
  type PromptResponse,
  type ProviderAdapter,
  type Slice,
} from "@proviso/core";
import { onAbort } from "../abort.ts";
import { markSaved, takeAnsweredAgain } from "../content/saved-sessions.ts";
import { frozenMessages } from "../history.ts";
import { isAbortSignal } from "../evaluate-options.ts";
import type { ConversationState } from "./saved.ts";
import { checkGiven, slicesOfTurn } from "./slices.ts";

/** The options of `evaluate` but for both halves of the conversation, which are its own. */
export type ConversationEvaluateOptions = Omit<EvaluateOptions, "session" | "messages">;

/** A conversation that this program alone may write, for as long as the function that was given it runs. */
export interface Conversation extends ConversationState {
  /** The id of the conversation. */
  readonly id: string;
  /** How often the conversation was saved; 0: it is new. */
  readonly revision: number;
  /** Fires when another writer took the conversation over; its evaluations are aborted then. */
  readonly signal: AbortSignal;
  /** Evaluates a text as the next turn of the conversation. */
  evaluate(
    adapter: ProviderAdapter,
    text: string,
    options?: ConversationEvaluateOptions,
  ): Promise<PromptResponse<string>>;
  /**
   * Evaluates a prompt as the next turn of the conversation, one at a time. `messages` goes on with what the evaluation
   * says, with what a failed one did as well: so it agrees with the session.
   * @throws {DefinitionError} where the prompt or a policy of the options has slices that `withConversation` was not given.
   */
  evaluate<Output>(
    adapter: ProviderAdapter,
    prompt: Prompt<Output>,
    options?: ConversationEvaluateOptions,
  ): Promise<PromptResponse<Output>>;
  /** Evaluates one of several prompts, or a text, as was chosen at run time, as the next turn of the conversation. */
  evaluate<Asked extends Prompt | string>(
    adapter: ProviderAdapter,
    asked: Asked,
    options?: ConversationEvaluateOptions,
  ): Promise<PromptResponse<OutputOf<Asked>>>;
  /** Streams a text as the next turn of the conversation. */
  stream(adapter: ProviderAdapter, text: string, options?: ConversationEvaluateOptions): EvaluationStream<string>;
  /** Streams a prompt as the next turn of the conversation. What is still running when the function returns is awaited. */
  stream<Output>(
    adapter: ProviderAdapter,
    prompt: Prompt<Output>,
    options?: ConversationEvaluateOptions,
  ): EvaluationStream<Output>;
  /** Streams one of several prompts, or a text, as was chosen at run time, as the next turn of the conversation. */
  stream<Asked extends Prompt | string>(
    adapter: ProviderAdapter,
    asked: Asked,
    options?: ConversationEvaluateOptions,
  ): EvaluationStream<OutputOf<Asked>>;
  /**
   * Puts other messages in place of all: with an answer that no model gave, or without a turn that failed.
   * @throws {DefinitionError} for what `parseMessages` refuses, and while an evaluation runs, which would put its own in
   * their place.
   */
  keep(messages: readonly Message[]): void;
  /**
   * Saves now what it is now; at the end of the function it is saved anyway.
   * @throws {DefinitionError} while an evaluation runs: half a turn would be stored. Await the evaluation first.
   * @throws {ConversationError} "lost": another writer took it over, or it was deleted.
   */
  save(): Promise<void>;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** A conversation in use, and what ends the use. */
export interface OpenConversation {
  readonly conversation: Conversation;
  /** Lets nothing begin any more, and waits for what is still running; then nothing can be done with it. */
  settled(): Promise<void>;
  /** Does what `settled` does, and aborts what is still running. */
  abort(): Promise<void>;
  /** Saves what it is in the end. @throws as `conversation.save`. */
  saveLast(): Promise<void>;
}

export interface OpenParts extends ConversationState {
  readonly id: string;
  readonly revision: number;
  readonly signal: AbortSignal;
  /** What the session is restored with. */
  readonly slices: readonly Slice[];
  /** Saves; resolves with the revision that is stored then. */
  readonly save: (state: ConversationState) => Promise<number>;
}

export function openConversation({ save, slices, ...given }: OpenParts): OpenConversation {
  markSaved(given.session);
  let use: "open" | "leaving" | "over" = "open";
  const assertIs = (...uses: readonly (typeof use)[]): void => {
    if (!uses.includes(use))
      throw new RevokedError(`The conversation ${JSON.stringify(given.id)} was used after its function ended.`);
  };
  const goOnFrom = (messages: readonly Message[]): void => void (conversation.messages = messages);
  const turns = turnsOf({ ...given, slices, messages: () => conversation.messages, goOnFrom });
  const conversation: Writable<Conversation> = {
    ...given,
    async evaluate<Output>(
      adapter: ProviderAdapter,
      prompt: Prompt<Output> | string,
      options: ConversationEvaluateOptions = {},
    ) {
      assertIs("open");
      return turns.begin(prompt, options, (own) => {
        const begun = adapter.evaluate(prompt as Prompt<Output>, own);
        return { begun, response: begun };
      });
    },
    stream<Output>(
      adapter: ProviderAdapter,
      prompt: Prompt<Output> | string,
      options: ConversationEvaluateOptions = {},
    ) {
      assertIs("open");
      return turns.begin(prompt, options, (own) => {
        const begun = adapter.stream(prompt as Prompt<Output>, own);
        return { begun, response: begun.response };
      });
    },
    keep(messages) {
      assertIs("open", "leaving");
      turns.assertNone("keep");
      goOnFrom(frozenMessages(parseMessages(messages)));
    },
    async save() {
      assertIs("open", "leaving");
      turns.assertNone("save");
      await saveLast();
    },
  };
  const saveLast = async (): Promise<void> => void (conversation.revision = await save(conversation));
  const ended = async (ending: () => Promise<void>): Promise<void> => {
    if (use === "open") use = "leaving";
    await ending();
    use = "over";
  };
  return { conversation, settled: () => ended(turns.settled), abort: () => ended(turns.abort), saveLast };
}

interface Turns {
  /** @throws {DefinitionError} while an evaluation runs. */
  assertNone(method: "keep" | "save"): void;
  /** Waits for what is still running. */
  settled(): Promise<void>;
  /** Aborts what is still running, and waits for its end. */
  abort(): Promise<void>;
  /** Begins an evaluation with both halves, and goes on from the messages that it leaves. */
  begin<T>(
    prompt: Prompt<unknown> | string,
    options: ConversationEvaluateOptions,
    start: (own: EvaluateOptions) => { readonly begun: T; readonly response: Promise<PromptResponse<unknown>> },
  ): T;
}

interface TurnParts extends Pick<OpenParts, "id" | "session" | "signal" | "slices"> {
  readonly messages: () => readonly Message[];
  readonly goOnFrom: (messages: readonly Message[]) => void;
}

function turnsOf({ id, session, signal, slices, messages, goOnFrom }: TurnParts): Turns {
  const leaving = new AbortController();
  let running: Promise<unknown> | undefined;
  return {
    assertNone(method) {
      if (running !== undefined)
        throw new DefinitionError(
          `conversation.${method} was called while an evaluation runs, whose turn is incomplete: await it first.`,
        );
    },
    begin(prompt, options, start) {
      checkOwn(options);
      checkGiven(id, slicesOfTurn(prompt, options), slices);
      if (running !== undefined)
        throw new DefinitionError("A conversation has one evaluation at a time: await the one before.");
      const ending = new AbortController();
      const history = options.continueFrom === undefined ? { messages: messages() } : undefined;
      // What is no signal is the evaluation's to refuse.
      const { signal: own } = options;
      const isUsable = own === undefined || isAbortSignal(own);
      const limited = isUsable ? ending.signal : own;
      // A signal that has fired already lets nothing begin.
      const stops = [isUsable ? own : undefined, signal, leaving.signal].map((source) =>
        onAbort(source, (reason) => ending.abort(reason)),
      );
      const { begun, response } = startOrStop(() => start({ ...options, ...history, session, signal: limited }), stops);
      // What awaits the response goes on right behind this, and may save or begin the next evaluation.
      const over = (): void => {
        running = undefined;
        for (const stop of stops) stop();
      };
      running = response.then(
        (answered) => {
          over();
          // The turn of a run that is answered again is in the conversation, and others may be behind it.
          if (!takeAnsweredAgain(session)) goOnFrom(answered.messages);
        },
        (error: unknown) => {
          over();
          if (takeAnsweredAgain(session)) return;
          // An evaluation that could not begin may name no history at all.
          if (isEvaluationFailure(error) && error.messages.length > 0) goOnFrom(error.messages);
        },
      );
      return begun;
    },
    async settled() {
      await running;
    },
    async abort() {
      leaving.abort(new DOMException("The function of the conversation failed.", "AbortError"));
      await running;
    },
  };
}

/** Where it cannot even start, nothing listens to the signals any more. */
function startOrStop<T>(start: () => T, stops: readonly (() => void)[]): T {
  try {
    return start();
  } catch (error) {
    for (const stop of stops) stop();
    throw error;
  }
}

/** @throws {DefinitionError} for the halves that are the conversation's. */
function checkOwn(options: ConversationEvaluateOptions): void {
  const own = (["session", "messages"] as const).find((name) => (options as EvaluateOptions)[name] !== undefined);
  if (own !== undefined)
    throw new DefinitionError(`A conversation has its own ${own}: leave the option out, or use conversation.keep.`);
}
