import {
  DefinitionError,
  systemClock,
  type Clock,
  type GeneratedFile,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type ProviderCall,
  type ReportedUsage,
  type Source,
  type TokenLogprob,
} from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames, type FinishReason } from "@proviso/core/provider";
import { testModels } from "../test-models.ts";
import { type Environment } from "../environment.ts";

/**
 * What a scripted model does with one request. `usage` left out: 10 input and 5 output tokens. An answer of more output
 * tokens than a budget leaves for it is cut short there, as a service would.
 */
export type ScriptedStep =
  | {
      /** The text of the answer. Default: empty. */
      readonly text?: string | undefined;
      /** The thoughts of the model. Streamed, they come before the text. Default: nothing. */
      readonly reasoning?: string | undefined;
      /** What the answer rests on. Default: nothing. */
      readonly sources?: readonly Source[] | undefined;
      /** Calls that the provider ran itself. Default: none. */
      readonly providerCalls?: readonly ProviderCall[] | undefined;
      /** The log probabilities of the answer's tokens. Default: none. */
      readonly logprobs?: readonly TokenLogprob[] | undefined;
      /** A structured answer, sent as JSON text. */
      readonly output?: unknown;
      /** An id is made up where none is given; an object is sent as JSON. */
      readonly toolCalls?:
        | readonly {
            readonly name: string;
            readonly arguments?: object | string | undefined;
            readonly id?: string | undefined;
          }[]
        | undefined;
      /** The files that the model makes. Default: none. */
      readonly files?: readonly GeneratedFile[] | undefined;
      /** What the answer reports. Default: 10 input and 5 output tokens. */
      readonly usage?: ReportedUsage | undefined;
      /** Why the model stops. Default: "stop", or "tool-calls" beside calls. */
      readonly finishReason?: FinishReason | undefined;
      /** Milliseconds on the clock before it answers. */
      readonly afterMs?: number | undefined;
    }
  | ModelFailure
  /** Thrown, as a network would. */
  | {
      /** What the model throws in place of an answer. */
      readonly error: Error;
    }
  | ((request: ModelRequest) => ScriptedStep);

/** A model that answers from a script and keeps what it was asked. */
export interface ScriptedModel extends ModelProvider {
  /** Grows as it is asked. */
  readonly requests: readonly ModelRequest[];
  /** Requests so far. */
  readonly callCount: number;
  /** The text of the last request's last user message. */
  readonly lastPrompt: string | undefined;
  /** @throws {Error} when steps are left over. */
  assertDone(): void;
  /** Forgets what it was asked and begins with the first step again. */
  reset(): void;
}

/**
 * Makes a model that answers from a script. A request beyond the script fails the evaluation with a ProviderError;
 * `assertDone` throws where steps are left over. `clock` serves `afterMs`; default: the system's. A whole
 * `fakeEnvironment` may be given; a script needs no more of it.
 * @example
 * ```ts
 * import { modelAdapter } from "@proviso/runtime";
 * import { scriptedModel } from "@proviso/runtime/testing";
 *
 * const model = scriptedModel([{ text: "Paris" }]);
 * const { output } = await modelAdapter(model).evaluate("What is the capital of France?");
 * model.assertDone();
 * console.log(output, model.requests.length); // Paris 1
 * ```
 */
export function scriptedModel(
  steps: readonly ScriptedStep[],
  options: Pick<Environment, "clock" | "random" | "newId"> & {
    readonly capabilities?: Partial<ModelProvider["capabilities"]> | undefined;
  } = {},
): ScriptedModel {
  if (!Array.isArray(steps)) {
    throw new DefinitionError(`scriptedModel takes a list of steps, [{ text: "Paris" }], not ${describeValue(steps)}.`);
  }
  checkOptionNames("scriptedModel", options, { clock: true, random: true, newId: true, capabilities: true });
  checkOptionNames("The capabilities of scriptedModel", options.capabilities, {
    tools: true,
    nativeOutput: true,
    files: true,
    settings: true,
    refusesSetting: true,
    providerTools: true,
  });
  for (const [index, step] of steps.entries()) checkStep(step, index);
  const requests: ModelRequest[] = [];
  const clock = options.clock ?? systemClock;
  let calls = 0;
  return {
    name: "scripted",
    model: testModels.scripted,
    capabilities: {
      tools: true,
      nativeOutput: true,
      outputLimit: { least: 1 },
      ...reporting(steps),
      ...options.capabilities,
    },
    requests,
    get callCount() {
      return requests.length;
    },
    get lastPrompt() {
      return requests.at(-1)?.messages.findLast(({ role }) => role === "user")?.text;
    },
    async generate(request) {
      requests.push(request);
      const step = steps[requests.length - 1];
      if (step === undefined)
        throw new Error(`Request ${requests.length} was not expected: the script has ${steps.length} steps.`);
      return play(step, request, clock, () => `call_${++calls}`);
    },
    assertDone() {
      if (requests.length < steps.length)
        throw new Error(`${steps.length - requests.length} steps of the script were not used.`);
    },
    reset() {
      requests.length = 0;
      calls = 0;
    },
  };
}

const stepNames = {
  text: true,
  reasoning: true,
  sources: true,
  providerCalls: true,
  logprobs: true,
  output: true,
  toolCalls: true,
  files: true,
  usage: true,
  finishReason: true,
  afterMs: true,
};

/** A step that fails is data of the provider's contract, which may have more fields. */
function checkStep(step: ScriptedStep, index: number): void {
  if (typeof step !== "object" || step === null || "error" in step || "failure" in step) return;
  checkOptionNames(`Step ${index + 1} of the script`, step, stepNames);
  for (const call of Array.isArray(step.toolCalls) ? step.toolCalls : []) {
    checkOptionNames(`A call in step ${index + 1} of the script`, call as object, {
      name: true,
      arguments: true,
      id: true,
    });
  }
}

async function play(
  step: ScriptedStep,
  request: ModelRequest,
  clock: Clock,
  newCallId: () => string,
): Promise<ModelResponse | ModelFailure> {
  if (typeof step === "function") return play(step(request), request, clock, newCallId);
  if ("error" in step) throw step.error;
  if ("failure" in step) return step;
  if (step.afterMs !== undefined) await clock.sleep(step.afterMs, request.signal);
  const toolCalls = (step.toolCalls ?? []).map(({ name, id, arguments: given = {} }) => ({
    id: id ?? newCallId(),
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  }));
  const whole = step.text ?? (step.output === undefined ? "" : JSON.stringify(step.output));
  const usage = step.usage ?? { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
  const { outputTokens = 0 } = usage;
  const limit = Math.min(request.maxOutputTokens ?? Infinity, outputTokens);
  const isCut = limit < outputTokens;
  const text = isCut ? whole.slice(0, Math.floor((whole.length * limit) / outputTokens)) : whole;
  const { reasoning, sources, providerCalls, logprobs } = step;
  if (request.onDelta !== undefined) {
    for (const word of wordsOf(reasoning ?? "")) request.onDelta({ kind: "reasoning", text: word });
    for (const word of wordsOf(text)) request.onDelta({ kind: "text", text: word });
  }
  const thought = reasoning === undefined ? undefined : { reasoning };
  return {
    message: { role: "assistant", text, toolCalls: isCut ? [] : toolCalls, ...thought },
    sources,
    providerCalls,
    logprobs,
    finishReason: isCut ? "length" : (step.finishReason ?? (toolCalls.length > 0 ? "tool-calls" : "stop")),
    usage: isCut ? { ...usage, outputTokens: limit, totalTokens: undefined } : usage,
    model: testModels.scripted,
    ...(step.files === undefined ? {} : { generated: step.files }),
  };
}

/** What is streamed comes in words. */
function wordsOf(text: string): readonly string[] {
  return text.match(/\s*[^\s,]+,?/g) ?? [];
}

/** A script that reports costs needs no prices. */
function reporting(steps: readonly ScriptedStep[]): { readonly reportsCost?: true } {
  const isReported = steps.some((step) => "usage" in step && step.usage?.costUsd !== undefined);
  return isReported ? { reportsCost: true } : {};
}

/** Fails every request. */
export function failingModel(failure: ModelFailure | Error): ModelProvider {
  return {
    name: "failing",
    model: testModels.failing,
    capabilities: { tools: true, nativeOutput: true },
    async generate() {
      if (failure instanceof Error) throw failure;
      return failure;
    },
  };
}
