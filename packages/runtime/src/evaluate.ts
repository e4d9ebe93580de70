import type * as ObserveEvaluation from "./observing/observe-evaluation.ts";
import {
  ListenerError,
  type EvaluateOptions,
  type Prompt,
  type PromptResponse,
  type ModelResponse,
} from "@proviso/core";
import { messageOf, stepOfAnswer, toJsonValue, type EvaluationPhase, isThenable } from "@proviso/core/internal";
import { besideText } from "./beside-text.ts";
import { rememberHistory } from "./history.ts";
import { keepTurnsBefore } from "./turns-before.ts";
import { elapsedMs } from "./environment.ts";
import {
  emitFailed,
  errorFields,
  failedEvaluation,
  faultsOf,
  notStarted,
  recordFault,
  restoreError,
  spent,
  unforeseenFailure,
  withHiddenResponse,
} from "./failing.ts";
import { internalFailure, isFailure, failure, type Failure } from "./failures.ts";
import type { EvaluationOutcome } from "./recording/contract.ts";
import { ownRecordOf, type OpenTape } from "./recording/run-value.ts";
import { activeObservers, type Observers } from "./observing/observers.ts";
import { type Nesting, type Run, type Setup, type DrivenSetup } from "./run.ts";
import { promptOf, startRun } from "./start-run.ts";
import { oneAttempt } from "./attempts.ts";
import type { Surroundings } from "./nested/inherit.ts";
import { enclosing, noEnclosing, type Enclosing } from "./transactions/session-view.ts";
import { missingParts } from "./completion.ts";
import { isOutOfRepairs } from "./loop-limits.ts";
import { parseOutput, repairRequest, type Answer } from "./output/parse.ts";
import { refusedSetting } from "./evaluate-options.ts";
import { sectionsOf } from "./rendering.ts";
import { shownLimits } from "./shown-limits.ts";

/** Evaluates a prompt with what an adapter brings to it. */
export function evaluate<Output>(
  setup: DrivenSetup,
  given: Prompt<Output> | string,
  options: EvaluateOptions,
  around: Surroundings,
): Promise<PromptResponse<Output>> {
  const prompt = promptOf(given);
  const observers = activeObservers(setup.world.observers);
  const own = around.nesting?.run.tape === undefined ? setup : recordedSetup(setup, around.nesting);
  const begin = (place: Surroundings): Promise<PromptResponse<Output>> =>
    observers === undefined
      ? evaluateHere(own, prompt, options, place)
      : evaluateObserved(observers, own, prompt, options, place);
  if (around.nesting !== undefined) return begin(around);
  const enclosing = enclosingNow(options);
  return enclosing === noEnclosing ? begin(around) : beginIn(enclosing, () => begin({ ...around, enclosing }));
}

/** Found at once: what is loaded or read first may outlast the body. */
function enclosingNow(options: EvaluateOptions | null): Enclosing {
  try {
    return enclosing(options?.session);
  } catch {
    // The check of the options refuses a session that cannot be read.
    return noEnclosing;
  }
}

/** Begins it in the code of a body, which does not end before it. */
function beginIn<T>({ among }: Enclosing, begin: () => Promise<T>): Promise<T> {
  const evaluation = begin();
  for (const evaluations of among) evaluations.add(evaluation);
  return evaluation;
}

async function evaluateObserved<Output>(
  observers: Observers,
  ...given: Parameters<typeof evaluateHere<Output>>
): Promise<PromptResponse<Output>> {
  const [setup, prompt] = given;
  observing ??= await import("./observing/observe-evaluation.ts");
  return await observing.observeEvaluation(observers, given, (options, inside) =>
    evaluateHere(setup, prompt, options, inside),
  );
}

/** Loaded with the first evaluation that has observers; the later ones begin at once. */
let observing: typeof ObserveEvaluation | undefined;

async function evaluateHere<Output>(
  setup: DrivenSetup,
  prompt: Prompt<Output>,
  given: EvaluateOptions,
  around: Surroundings,
): Promise<PromptResponse<Output>> {
  const { tape } = around;
  const { options, open } = ownRecordOf(given, setup.journal, around);
  if (open !== undefined) return evaluateRecorded(open, setup, prompt, options, around);
  const started = await startRun(setup, prompt, options, around);
  if (isFailure(started)) {
    const error = notStarted(setup, prompt, options, started);
    throw tape === undefined ? error : await tape.notBegun(error);
  }
  // `await using` would cost more than all of its events.
  const outcome = await outcomeOf(setup, started);
  const over = started.isInside ? started.tape?.over(started) : undefined;
  if (over !== undefined) await over;
  const closing = started.close();
  if (closing !== undefined) await closing;
  const ended = tape === undefined ? outcome : await tape.end(started, outcome);
  if ("error" in ended) throw ended.error;
  // What parseOutput returned was validated with the prompt's own schema.
  return ended.response as PromptResponse<Output>;
}

/** Evaluates with the record of a run: all is answered from what stands in it, and what happens then is appended. */
async function evaluateRecorded<Output>(
  open: OpenTape,
  ...[setup, prompt, options, around]: Parameters<typeof evaluateHere<Output>>
): Promise<PromptResponse<Output>> {
  const tape = await (around.opening ?? open(setup, prompt, options, around.enclosing));
  const begun = { enclosing: around.enclosing };
  tape.runAgain((own) => evaluateHere(own.setup(setup), prompt, own.options(options), { ...begun, tape: own }));
  return evaluateHere(tape.setup(setup), prompt, tape.options(options), { ...around, tape });
}

/** An evaluation inside a call has a world of its own, for its call is answered as a whole; a summary has the record's. */
function recordedSetup(setup: DrivenSetup, { run, callId }: Nesting): DrivenSetup {
  return callId !== undefined || run.isInside ? setup : (run.tape?.setup(setup) ?? setup);
}

/** How an evaluation begins again whose record says that it did, where its adapter does not: a replay has one model. */
function recordedAgain(run: Run): DrivenSetup["beginAgain"] {
  if (run.isInside || run.tape?.hasAttempts !== true) return undefined;
  return async (_, once) => {
    const { beginAgain } = await import("./routing/begin-again.ts");
    return beginAgain(run, oneAttempt, false, once);
  };
}

/** Catches every unexpected error: it is a failure of its own kind. Never rejects. */
async function outcomeOf(setup: DrivenSetup, run: Run): Promise<EvaluationOutcome> {
  let phase: EvaluationPhase = "render";
  try {
    announceRendering(run, setup);
    phase = "request";
    const again = setup.beginAgain ?? recordedAgain(run);
    const answer = await (again === undefined ? answerOf(setup, run) : again(run, () => answerOf(setup, run)));
    if (isFailure(answer)) return recordFault(run) ?? { error: failedEvaluation(run, answer) };
    phase = "response";
    return executed(run, setup, answer);
  } catch (cause) {
    const fault = recordFault(run);
    if (fault !== undefined) return fault;
    return { error: unforeseenFailure(run, internalFailure(cause, phase)) };
  }
}

function executed(run: Run, setup: Setup, answer: Answer): EvaluationOutcome {
  const evaluated = responseOf(run, setup, answer);
  keepTurnsBefore(evaluated, run);
  // An answer that stands on changes which could not be undone or committed is no success.
  const faults = faultsOf(run);
  if (faults.length > 0) return { error: emitFailed(run, restoreError(run, faults, { response: evaluated })) };
  const { promptName, usage, turn: turns } = run;
  const { text, output } = answer;
  const shown = toJsonValue(output)?.value ?? null;
  const durationMs = elapsedMs(run.world.clock, run.startedAt);
  const errors = run.publish({ type: "prompt.executed", promptName, output: shown, text, usage, turns, durationMs });
  if (errors.length === 0) return { response: evaluated };
  const { value } = run.redaction;
  const why = value(errors.map(messageOf).join("; "));
  const error = new ListenerError(`A listener or reducer failed on prompt.executed: ${why}`, {
    ...run.redaction.details({ ...spent(run), phase: "response", providerPayload: evaluated.providerPayload }),
    errors: value(errors),
    response: evaluated,
  });
  rememberHistory(error, run.prompt, run.history);
  run.log("error", errorFields(error), "prompt.error");
  return { error: withHiddenResponse(error) };
}

/** The final answer, parsed and complete, or why there is none. */
async function answerOf(setup: DrivenSetup, run: Run): Promise<Answer | Failure> {
  if (!setup.takesTools && run.tools.size > 0) {
    const message = `${setup.provider.name} takes no tools, but the prompt "${run.promptName}" has some.`;
    return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
  }
  const refused = refusedSetting(setup.provider, run.settings);
  if (refused !== undefined) return refused;
  let repairs = 0;
  let completions = 0;
  for (;;) {
    const response = await setup.drive(run);
    if (isFailure(response)) return response;
    const parsing = parseOutput(run.rendered.output, response);
    const parsed = isThenable(parsing) ? await run.limits.race(parsing, "response") : parsing;
    if (isFailure(parsed)) {
      if (parsed.stop !== "output" || isOutOfRepairs(run, repairs++)) return parsed;
      run.history.say(repairRequest(parsed));
      continue;
    }
    const { completion } = run.rendered;
    const missing = completion && (await missingParts(run, completion, parsed.output, completions++));
    if (isFailure(missing)) return missing;
    if (missing === undefined) return { ...parsed, response };
    run.history.say(missing);
  }
}

/** What `evaluate` returns. */
function responseOf(run: Run, setup: Setup, { text, output, response }: Answer): PromptResponse<unknown> {
  const recorded = run.tape !== undefined && run.nesting === undefined ? { run: run.tape.facts() } : undefined;
  const answered = stepOfAnswer(response.route);
  const messages = run.history.messages();
  run.context?.remember(messages);
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  return Object.freeze({
    ...(recorded === undefined ? besideResponse(run, response) : { ...besideResponse(run, response), ...recorded }),
    promptName: run.promptName,
    evaluationId: run.evaluationId,
    provider: answered?.provider ?? setup.provider.name,
    model: run.model,
    text,
    output,
    toolResults: Object.freeze([...run.toolResults]),
    usage: run.usage,
    turns: run.turn,
    messages,
    finishReason: response.finishReason,
    providerPayload: run.files === undefined ? response.payload : run.files.withoutBytes(response.payload),
  });
}

/** Returns what the response has beside its text: only what there is. */
function besideResponse({ reasoning, files }: Run, { sources, logprobs, serviceTier }: ModelResponse) {
  const made = files?.made ?? [];
  const shown = made.length === 0 ? undefined : Object.freeze([...made]);
  return besideText({ reasoning, sources, files: shown, logprobs, serviceTier });
}

/** Emits `prompt.rendered`. */
function announceRendering(run: Run, { adapter, provider }: Setup): void {
  run.announced = run.rendered;
  run.announce("prompt.rendered", () => {
    const { text, descriptor, tools, output, overrides } = run.rendered;
    const params = run.files?.params(run.prompt.params) ?? run.prompt.params;
    return {
      type: "prompt.rendered",
      promptName: run.promptName,
      adapter: adapter.name,
      model: provider.model,
      text,
      tools: tools.map(({ name }) => name),
      params: (toJsonValue(params)?.value ?? {}) as Readonly<Record<string, unknown>>,
      descriptor,
      overrides,
      sections: sectionsOf(run),
      limits: shownLimits(run),
      output: output === undefined ? "text" : "json",
      earlierMessages: run.history.earlier,
      // Fields that come later would stand in a second object.
      evaluationId: "",
      at: 0,
      sessionId: "",
      seq: 0,
    };
  });
}
