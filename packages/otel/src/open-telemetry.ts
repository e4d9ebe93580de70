// 1. Where the process has registered no SDK, nothing is made.
// 2. Nothing is kept of an evaluation that is over.
import {
  context,
  createContextKey,
  createNoopMeter,
  metrics,
  ProxyTracerProvider,
  trace,
  type Attributes,
  type Context,
  type MeterProvider,
  type Tracer,
  type TracerProvider,
} from "@opentelemetry/api";
import { DefinitionError, type Observer, type Step } from "@proviso/core";
import { checkOptionNames, type OptionNames } from "@proviso/core/provider";
import {
  atOnce,
  describeValue,
  environmentVariable,
  ofEvaluation,
  surround,
  usedEvents,
  type EachObserver,
  type SparingObserver,
  type SurroundingObserver,
} from "@proviso/core/internal";
import type { EvaluationStep } from "./attributes.ts";
import { eventsOfSpans, TracedEvaluation } from "./evaluation.ts";
import { Metrics } from "./metrics.ts";
import type { Telemetry } from "./telemetry.ts";

/** What spans and metrics show, and where they go. */
export interface OpenTelemetryOptions {
  /**
   * Whether prompts, answers, arguments and results go into span attributes. Left out:
   * `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT`, where "true", "SPAN_ONLY" and "SPAN_AND_EVENT" mean "spans".
   * Default "none".
   */
  readonly content?: "none" | "spans" | undefined;
  /** Bytes of one content attribute: beyond them the oldest messages are left out, and counted. Default 65,536. */
  readonly maxContentBytes?: number | undefined;
  /** Returns more attributes for each span that begins: a tenant, a user. What it throws is logged. */
  readonly attributes?: ((step: Step) => Attributes) | undefined;
  /** Makes the spans. Default: the provider that the process has registered. */
  readonly tracerProvider?: TracerProvider | undefined;
  /** Makes the metrics. Default: the provider that the process has registered. */
  readonly meterProvider?: MeterProvider | undefined;
}

const optionNames = {
  content: true,
  maxContentBytes: true,
  attributes: true,
  tracerProvider: true,
  meterProvider: true,
} as const satisfies OptionNames<OpenTelemetryOptions>;

/**
 * Makes spans and metrics by the GenAI semantic conventions: `invoke_agent` for an evaluation, `chat` for a turn,
 * `execute_tool` for a call. Where the process has registered no SDK it does nothing.
 * @example
 * ```ts
 * import { openTelemetry } from "@proviso/otel";
 * import { modelAdapter } from "@proviso/runtime";
 * import { scriptedModel } from "@proviso/runtime/testing";
 *
 * const model = scriptedModel([{ text: "Paris" }]);
 * const adapter = modelAdapter(model, { observers: [openTelemetry()] });
 * const { output } = await adapter.evaluate("What is the capital of France?");
 * console.log(output); // Paris
 * ```
 * @throws {DefinitionError} for an option that is unknown, and for a `content` or `maxContentBytes` that cannot be.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): Observer {
  checkOptionNames("openTelemetry", options, optionNames);
  return new OpenTelemetry(options);
}

const scope = "@proviso/otel";
/** The innermost evaluation, in the context of its work. */
const evaluationKey = createContextKey("proviso evaluation");
const defaultContentBytes = 65_536;

class OpenTelemetry implements EachObserver {
  readonly #options: OpenTelemetryOptions;
  readonly #maxContentBytes: number | undefined;
  readonly #open = new Map<string, TracedEvaluation>();
  #tracer: { readonly of: TracerProvider; readonly made: Tracer } | undefined;
  #metrics: { readonly of: MeterProvider; readonly made: Metrics | undefined } | undefined;

  constructor(options: OpenTelemetryOptions) {
    this.#options = options;
    this.#maxContentBytes = contentBytes(options);
  }

  /** Two forks of one run, side by side, have one id: each has its spans by its own observer. */
  [ofEvaluation](): Observer | undefined {
    let telemetry: Telemetry | undefined;
    try {
      telemetry = this.#telemetry();
    } catch (error) {
      return failing(error);
    }
    return telemetry && this.#observerWith(telemetry);
  }

  #observerWith(telemetry: Telemetry): Observer {
    let own: TracedEvaluation | undefined;
    const observer: SparingObserver & SurroundingObserver = {
      [usedEvents]: eventsOfSpans,
      [surround]: (step, begin) => {
        if (step.kind !== "evaluation") return beginStep(own, step, begin);
        return this.#beginEvaluation(telemetry, step, (evaluation, inside, end) => {
          own = evaluation;
          context.with(inside, begin, undefined, end);
        });
      },
      event: (event) => own?.event(event),
      changed: (changes) => own?.changed(changes),
    };
    return observer;
  }

  event(...[event]: Parameters<NonNullable<Observer["event"]>>): void {
    if (this.#open.size > 0) this.#open.get(event.evaluationId)?.event(event);
  }

  changed(...[changes]: Parameters<NonNullable<Observer["changed"]>>): void {
    if (this.#open.size > 0) this.#open.get(changes.evaluationId)?.changed(changes);
  }

  /** Here for an observer of a program that passes its steps on. */
  around<T>(step: Step, work: () => Promise<T>): Promise<T> {
    const telemetry = this.#telemetry();
    if (telemetry === undefined) return work();
    let working: Promise<T> | undefined;
    try {
      if (step.kind !== "evaluation") {
        beginStep(this.#open.get(step.evaluationId), step, () => void (working = work()));
      } else {
        this.#beginEvaluation(telemetry, step, (_, inside, end) => {
          working = context.with(inside, work).then(
            (value) => {
              end();
              return value;
            },
            (error: unknown) => {
              end(error ?? "error");
              throw error;
            },
          );
        });
      }
    } catch (error) {
      // The step goes on, without this promise.
      working?.catch(() => {});
      throw error;
    }
    return working as Promise<T>;
  }

  #beginEvaluation(
    telemetry: Telemetry,
    step: EvaluationStep,
    begin: (evaluation: TracedEvaluation, inside: Context, end: (error?: unknown) => void) => void,
  ): void {
    const evaluation = new TracedEvaluation(telemetry, step, this.#aroundOf(step));
    this.#open.set(step.evaluationId, evaluation);
    const end = (error?: unknown): void => {
      // Forks of one run, side by side, have its id.
      if (this.#open.get(step.evaluationId) === evaluation) this.#open.delete(step.evaluationId);
      evaluation.end(error);
    };
    begin(evaluation, evaluation.inside.setValue(evaluationKey, evaluation), end);
    // Now that the work has begun: the runtime logs it.
    evaluation.report();
  }

  /**
   * An evaluation inside a call is a child of its span, and a summary one of the evaluation's, also where no context manager is registered. One that is knows
   * which evaluation is around, where several have its id.
   */
  #aroundOf({ parent }: Extract<Step, { kind: "evaluation" }>): Context {
    if (parent === undefined) return context.active();
    const active = context.active().getValue(evaluationKey);
    const isAround = active instanceof TracedEvaluation && active.id === parent.evaluationId;
    const around = isAround ? active : this.#open.get(parent.evaluationId);
    // A summary of the history is inside no call.
    const inside = around?.insideCall(parent.callId) ?? around?.inside;
    const span = inside && trace.getSpan(inside);
    return span === undefined ? context.active() : trace.setSpan(context.active(), span);
  }

  readonly #moreFor = (step: Step): Attributes | undefined => {
    const { attributes } = this.#options;
    // Read here, where what a getter throws is caught.
    return attributes && { ...atOnce(attributes(step)) };
  };

  /** undefined: no SDK is there. */
  #telemetry(): Telemetry | undefined {
    const tracer = this.#tracerNow();
    const made = this.#metricsNow();
    if (tracer === undefined && made === undefined) return undefined;
    return { tracer, metrics: made, maxContentBytes: this.#maxContentBytes, moreFor: this.#moreFor };
  }

  /** undefined: the process has registered no provider yet. */
  #tracerNow(): Tracer | undefined {
    const given = this.#options.tracerProvider ?? trace.getTracerProvider();
    // The process may register another one later: the proxy is asked each time.
    if (given instanceof ProxyTracerProvider) return given.getDelegateTracer(scope);
    if (this.#tracer?.of !== given) this.#tracer = { of: given, made: given.getTracer(scope) };
    return this.#tracer.made;
  }

  #metricsNow(): Metrics | undefined {
    const provider = this.#options.meterProvider ?? metrics.getMeterProvider();
    if (this.#metrics?.of === provider) return this.#metrics.made;
    const meter = provider.getMeter(scope);
    const made = meter === createNoopMeter() ? undefined : new Metrics(meter);
    this.#metrics = { of: provider, made };
    return made;
  }
}

/** Has the runtime log, for the whole evaluation, why it has no spans. */
function failing(error: unknown): Observer {
  const observer: SurroundingObserver = {
    [surround](step) {
      if (step.kind === "evaluation") throw error;
    },
  };
  return observer;
}

/** Begins the span of a request or a call, and what is inside it; a step of an evaluation without spans has none. */
function beginStep(
  evaluation: TracedEvaluation | undefined,
  step: Exclude<Step, EvaluationStep>,
  begin: () => void,
): void {
  if (evaluation === undefined) return begin();
  const inside = step.kind === "request" ? evaluation.beginRequest(step) : evaluation.beginCall(step);
  context.with(inside, begin);
  // Now that the work has begun: the runtime logs it.
  evaluation.report();
}

/** undefined: no content is shown. */
function contentBytes({ content, maxContentBytes = defaultContentBytes }: OpenTelemetryOptions): number | undefined {
  if (content !== undefined && content !== "none" && content !== "spans") {
    throw new DefinitionError(`openTelemetry: content must be "none" or "spans", not ${describeValue(content)}.`);
  }
  if (!Number.isSafeInteger(maxContentBytes) || maxContentBytes < 2) {
    throw new DefinitionError(
      `openTelemetry: maxContentBytes must be a whole number of at least 2, not ${describeValue(maxContentBytes)}.`,
    );
  }
  return (content ?? contentOfProcess()) === "spans" ? maxContentBytes : undefined;
}

function contentOfProcess(): "none" | "spans" {
  const asked = environmentVariable("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT") ?? "";
  return ["TRUE", "SPAN_ONLY", "SPAN_AND_EVENT"].includes(asked.toUpperCase()) ? "spans" : "none";
}
