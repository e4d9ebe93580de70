// A recorded evaluation, and others of its run: on a clock that stands still between two steps.
import {
  Blobs,
  type Clock,
  deadlineIn,
  Filesystem,
  isEvaluationFailure,
  provide,
  type EvaluateOptions,
  type JournalRun,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type Session,
  type StreamEvent,
} from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { fakeEnvironment, testImage } from "@proviso/runtime/testing";
import { adapterOf, summaryPrompt } from "./model.ts";
import { notes, noted, templateOf } from "./prompt.ts";
import type { Shape } from "./shape.ts";

/** What came of an evaluation. */
export interface Came {
  readonly response: PromptResponse<unknown> | undefined;
  readonly error: Error | undefined;
  readonly session: Session | undefined;
  /** The session's events, as JSON. */
  readonly events: readonly string[];
  /** What was streamed, as JSON. */
  readonly streamed: readonly string[];
  /** Handlers that began, by their keys. */
  readonly done: readonly string[];
  /** Requests to models. */
  readonly asked: number;
}

export interface How {
  readonly run: JournalRun;
  /** undefined: the run brings its own. */
  readonly session?: Session | undefined;
  readonly blobs: Blobs;
  /** The number of the process: ids and randomness are others in each. */
  readonly process: number;
  /** The limits and interruptions of the shape. Default false: none. */
  readonly isLimited?: boolean;
}

const picture = testImage({ width: 30, height: 5, name: "given.png" });

/** The session as it is when the run begins. */
export function newSession(shape: Shape, id = "s"): Session {
  const session = createSession({ id, slices: [notes] });
  for (let n = 0; n < shape.notes; n++) session.dispatch(noted({ text: `before ${n}` }));
  return session;
}

export function promptOf(shape: Shape, done: string[]): Prompt {
  return templateOf(shape, { done }).bind(shape.hasFile ? { file: picture } : {}) as Prompt;
}

/** Resources as they are when a process begins; the bytes of files outlive it. */
export function resourcesOf(blobs: Blobs): NonNullable<EvaluateOptions["resources"]> {
  return [provide(Filesystem, memoryFilesystem({ "f0.txt": "old" })), provide(Blobs, blobs)];
}

/** What an evaluation is given beside its run, in whichever process. */
export function givenOf(
  shape: Shape,
): Pick<EvaluateOptions, "overrides" | "context" | "messages" | "maxTurns" | "maxRepairs"> {
  const { template } = promptOf(shape, []);
  const hash = template.descriptor.sections["task"] ?? "";
  const override = { tag: "latest", sections: { task: { hash, text: "Do something else." } }, tools: {} };
  const resolve = async () => override;
  const { window, summarises, hasHistory, maxTurns, maxRepairs } = shape;
  return {
    maxTurns,
    maxRepairs,
    ...(shape.isOverridden
      ? { overrides: { store: { resolve, upsert: async () => {}, seed: resolve as never } } }
      : {}),
    ...(window === undefined
      ? {}
      : {
          context: {
            window,
            keepTurns: 1,
            toolResultCharacters: 200,
            ...(summarises ? { summary: { prompt: summaryPrompt, maxTokens: 60 } } : {}),
          },
        }),
    ...(hasHistory
      ? {
          messages: [
            { role: "user" as const, text: "Before." },
            { role: "assistant" as const, text: "It was.", toolCalls: [] },
          ],
        }
      : {}),
  } as never;
}

/** Evaluates while time moves on. */
export async function evaluated(shape: Shape, { run, session, blobs, process, isLimited = false }: How): Promise<Came> {
  const environment = fakeEnvironment(process * 1_000 + (shape.seed % 1_000), { turns: 3 });
  const { clock } = environment;
  await clock.advance(process * 60_000);
  const { adapter, asked } = adapterOf(shape, environment);
  const done: string[] = [];
  const stopping = new AbortController();
  const limits = isLimited ? limitsOf(shape, clock, stopping.signal) : {};
  const options = {
    ...givenOf(shape),
    ...limits,
    resources: resourcesOf(blobs),
    run,
    ...(session === undefined ? {} : { session }),
  };
  const heard = session === undefined ? [] : hear(shape, session, isLimited ? stopping : undefined);
  const came = cameOf(shape, adapter, promptOf(shape, done), options);
  let isOver = false;
  const over = (): void => void (isOver = true);
  came.then(over, over);
  // Modules are loaded and hashes made in real time.
  const startedAt = performance.now();
  while (!isOver) {
    if (performance.now() - startedAt > 60_000) throw new Error("It never ends.");
    await clock.advance(5);
  }
  return { ...(await came), session, events: heard, done, asked: asked() };
}

function limitsOf({ deadline, budget }: Shape, clock: Clock, signal: AbortSignal): Partial<EvaluateOptions> {
  return {
    signal,
    ...(deadline === undefined ? {} : { deadline: deadlineIn(deadline, clock) }),
    ...(budget === undefined ? {} : { budget: { maxTotalTokens: budget } }),
  };
}

/** Hears all events; one of them aborts, and successes are refused, where the shape has it. */
export function hear({ abortsAt, vetoes }: Shape, session: Session, stopping: AbortController | undefined): string[] {
  const heard: string[] = [];
  session.on("*", (event) => {
    heard.push(JSON.stringify(event));
    if (heard.length === abortsAt) stopping?.abort(new Error("A listener aborts."));
  });
  if (vetoes !== undefined && stopping !== undefined) {
    session.on("tool.invoked", ({ name, result, evaluationId, callId }) => {
      if (result.success && name === "write" && (evaluationId + callId).length % 5 === vetoes)
        throw new Error("Refused.");
    });
  }
  return heard;
}

/** Evaluates, as a stream where the shape is streamed. */
export async function cameOf(
  { isStreamed }: Pick<Shape, "isStreamed">,
  adapter: ProviderAdapter,
  prompt: Prompt,
  options: EvaluateOptions,
): Promise<Pick<Came, "response" | "error" | "streamed">> {
  const streamed: string[] = [];
  try {
    if (!isStreamed) return { response: await adapter.evaluate(prompt, options), error: undefined, streamed };
    const stream = adapter.stream(prompt, options);
    stream.response.catch(() => {});
    for await (const event of stream as AsyncIterable<StreamEvent>) streamed.push(JSON.stringify(event));
    return { response: await stream.response, error: undefined, streamed };
  } catch (error) {
    if (!isEvaluationFailure(error)) throw error;
    return { response: undefined, error, streamed };
  }
}
