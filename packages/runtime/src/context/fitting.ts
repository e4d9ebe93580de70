// 1. A history is shortened whole or not at all: where something ends the evaluation meanwhile it is as it was.
// 2. What was shortened stays so: the history itself changes, and no copy of it.
import {
  type EvaluateOptions,
  type Message,
  type ModelFailure,
  type ModelRequest,
  type RenderedPrompt,
  type Tool,
  type ToolMessage,
} from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { failure, isFailure, readOption, type Failure } from "../failures.ts";
import { messagesWithoutSecrets } from "../conversations/hide.ts";
import type { Run, Setup } from "../run.ts";
import type { Fitting } from "./contract.ts";
import { planShortening, type Goal, type Plan } from "./plan.ts";
import { readPolicy, type Policy } from "./policy.ts";
import { readResultTool } from "./read-result.ts";
import { charactersIn, estimateOf, rateOf, sizeOf, usualRate, type Sent } from "./size.ts";
import { shownAnswer } from "./results.ts";
import { shorten } from "./shorten.ts";
import { mostOfSummary, noteCharacters, stubLength } from "./stand-in.ts";
import { keptText } from "./texts.ts";
import { windowOf, type Window } from "./window.ts";

/** Requests that are repeated because the provider refused them as too long. */
const mostRefusals = 2;
/** A result of more UTF-16 units is hardly a text: both ends of it are stored. */
const longestStored = 32 * 1024 * 1024;
/** A page of a result takes at most this share of what a history is shortened to. */
const pageShare = 1 / 4;

/** The rates of conversations, by the last message that was handed out. */
const rates = new WeakMap<Message, number>();

/**
 * @throws {DefinitionError} where the model's window is not known; an option's fault for a policy that cannot be.
 */
export async function openFitting(
  setup: Setup,
  options: EvaluateOptions,
  given: NonNullable<EvaluateOptions["context"]>,
): Promise<RunFitting> {
  const policy = readOption("context", () => readPolicy(given));
  const { messages, continueFrom, settings } = options;
  const { maxOutputTokens } = settings ?? {};
  const window = await windowOf({ given: policy.window, provider: setup.provider, maxOutputTokens });
  const from: unknown = messages ?? (continueFrom && "messages" in continueFrom ? continueFrom.messages : continueFrom);
  return new RunFitting(policy, window, setup.takesTools, Array.isArray(from) ? (from as readonly unknown[]) : []);
}

export class RunFitting implements Fitting {
  readonly longestResult = longestStored;
  readonly #policy: Policy;
  readonly #window: Window;
  readonly #tool: Tool | undefined;
  #run: Run | undefined;
  /** Whether the tool is offered; undefined: not decided yet. */
  #isOffered: boolean | undefined;
  /** Tokens of a request at most; what was refused makes it smaller. */
  #room: number;
  #rate: number;
  #refusals = 0;
  /** Messages as they are measured: each is looked through once. */
  readonly #withoutSecrets = new WeakMap<Message, Message>();

  constructor(policy: Policy, window: Window, takesTools: boolean, given: readonly unknown[]) {
    this.#policy = policy;
    this.#window = window;
    this.#room = window.room;
    this.#rate = rates.get(given.at(-1) as Message) ?? usualRate;
    if (given.some((message) => isRecord(message) && message["role"] === "tool")) this.#isOffered = true;
    this.#tool = takesTools
      ? readResultTool({
          messages: () => this.#running().history.messages(),
          textOf: (file) => keptText(this.#running(), file),
          pageCharacters: () => this.#page(),
        })
      : undefined;
  }

  attach(run: Run): void {
    this.#run = run;
  }

  withTools(rendered: RenderedPrompt): RenderedPrompt {
    this.#isOffered ??= rendered.tools.length > 0;
    if (!this.#isOffered || this.#tool === undefined) return rendered;
    return Object.freeze({ ...rendered, tools: Object.freeze([...rendered.tools, this.#tool]) });
  }

  async shownAnswers(answers: readonly ToolMessage[]): Promise<readonly ToolMessage[]> {
    const { toolResultCharacters: most } = this.#policy;
    if (answers.every(({ text }) => text.length <= most)) return answers;
    return Promise.all(answers.map((answer) => shownAnswer(this.#running(), answer, most, this.#isReadable)));
  }

  async fit(request: ModelRequest): Promise<ModelRequest | Failure> {
    const run = this.#running();
    const known = run.knownCost;
    const { compactAt, compactTo } = this.#policy;
    const sent = this.#measured(request);
    this.#rate = (known && rateOf(sent, known)) ?? this.#rate;
    const before = estimateOf(sent, known, this.#rate);
    const room = this.#room;
    if (before <= compactAt * room) return request;
    const plan = this.#plan(request, before, { target: compactTo * room, most: compactAt * room, room });
    if (Math.min(before, plan.tokens) > room) {
      return run.tape?.keepsHistory(run, "too-long") === true ? request : this.#tooLong(plan, before);
    }
    if (isEmpty(plan)) return request;
    return (await this.#carryOut(plan, request, { before, why: "threshold" })) ?? request;
  }

  async afterRefusal(refused: ModelFailure, request: ModelRequest): Promise<ModelRequest | Failure | undefined> {
    if (refused.failure !== "provider" || refused.reason !== "context_length") return undefined;
    if (this.#refusals >= mostRefusals) return undefined;
    const before = estimateOf(this.#measured(request), this.#running().knownCost, this.#rate);
    const room = this.#room;
    this.#room = Math.min(room, before);
    const target = (this.#policy.compactTo / 2) * this.#room;
    const plan = this.#plan(request, before, { target, most: target, room: target });
    if (isEmpty(plan)) return undefined;
    const shorter = await this.#carryOut(plan, request, { before, why: "refused" });
    if (shorter === undefined) this.#room = room;
    else this.#refusals += 1;
    return shorter;
  }

  remember(messages: readonly Message[]): void {
    const last = messages.at(-1);
    if (last !== undefined && this.#rate !== usualRate) rates.set(last, this.#rate);
  }

  /** Whether the model can read what is stored. */
  get #isReadable(): boolean {
    return this.#tool !== undefined && this.#isOffered === true;
  }

  /** The request with the adapter's bound of files, where the history has any. */
  #measured(request: Sent): Sent {
    const { bound } = this.#running().history;
    const messages = this.#shownMessages(request.messages);
    if (bound === undefined && messages === request.messages) return request;
    return { ...request, messages, bound };
  }

  /** A record shows no secrets: where its run goes on, what was measured is without them. */
  #shownMessages(messages: readonly Message[]): readonly Message[] {
    const { tape, world } = this.#running();
    if (tape === undefined || world.secrets === undefined) return messages;
    return messages.map((message) => {
      let shown = this.#withoutSecrets.get(message);
      if (shown === undefined) {
        shown = messagesWithoutSecrets([message], world.secrets)[0] as Message;
        this.#withoutSecrets.set(message, shown);
      }
      return shown;
    });
  }

  #running(): Run {
    return this.#run as Run;
  }

  /** UTF-16 units of one page, so that a page that was asked for can be shown. */
  #page(): number {
    const { toolResultCharacters, compactTo } = this.#policy;
    const most = Math.floor((this.#room * compactTo * pageShare) / this.#rate);
    return Math.max(1, Math.min(toolResultCharacters, most));
  }

  #plan(request: Sent, before: number, goal: Omit<Goal, "keepTurns">): Plan {
    const { history } = this.#running();
    const messages = this.#shownMessages(history.messages());
    const rate = before / charactersIn(this.#measured(request));
    const sizes = messages.map((message) => sizeOf(message, history.bound) * rate);
    const stubSizes = messages.map((message, place) => {
      const size = sizes[place] as number;
      if (message.role !== "tool") return size;
      const stub = stubLength(message.text.length, this.#isReadable);
      const saved = message.text.length - stub;
      // A stub of a short result would hardly save anything, and the cached prefix would end there.
      return saved < stub ? size : size - saved * rate;
    });
    const beside = before - sizes.reduce((sum, size) => sum + size, 0);
    const { keepTurns, summary } = this.#policy;
    const most = mostOfSummary(messages, summary?.maxTokens ?? 0, rate);
    const standIn = (replaced: number): number => noteCharacters * rate + Math.min(most, replaced / 2);
    return planShortening(
      { messages, question: history.question, sizes, stubSizes, beside, standIn },
      { ...goal, keepTurns },
    );
  }

  /** undefined: the history stays as the record has it. */
  async #carryOut(
    plan: Plan,
    request: ModelRequest,
    { before, why }: { readonly before: number; readonly why: "threshold" | "refused" },
  ): Promise<ModelRequest | Failure | undefined> {
    const run = this.#running();
    const { history } = run;
    const messages = history.messages();
    const rate = before / charactersIn(this.#measured(request));
    const { summary } = this.#policy;
    // No race: all that is awaited here ends by the limits itself, and the summary must end first, as in the record.
    const shortened = await shorten(run, messages, {
      plan,
      rate,
      summary,
      room: this.#room,
      isReadable: this.#isReadable,
    });
    if (shortened === undefined || isFailure(shortened)) return shortened;
    const { elided, summarised, transcript } = shortened;
    history.replace(shortened);
    const shorter = { ...request, messages: history.request() };
    const after = Math.ceil((before * charactersIn(this.#measured(shorter))) / charactersIn(this.#measured(request)));
    // What was reported was for other messages.
    run.knownCost = undefined;
    const { turn } = run;
    const replaced = plan.replaced.length;
    run.publish({ type: "history.compacted", turn, why, before, after, elided, replaced, summarised, transcript });
    run.log("debug", { turn, why, before, after, replaced, summarised }, "history.compacted");
    return shorter;
  }

  #tooLong(plan: Plan, before: number): Failure {
    const { window } = this.#window;
    const least = Math.ceil(plan.tokens);
    const shorter = isEmpty(plan) ? "and cannot be shortened" : `and ${least} when it is shortened as far as it can be`;
    const message =
      `The request has about ${before} tokens, ${shorter}: more than the ${this.#room} that the window of ` +
      `${window} tokens leaves beside an answer.`;
    return failure({ stop: "provider", phase: "request", reason: "context_length", message });
  }
}

function isEmpty({ stubs, replaced }: Plan): boolean {
  return stubs.length + replaced.length === 0;
}
