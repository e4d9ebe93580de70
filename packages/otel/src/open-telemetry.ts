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
  isIdle,
  ofEvaluation,
  type EachObserver,
  type IdleObserver,
} from "@proviso/core/internal";
import { TracedEvaluation } from "./evaluation.ts";
import { Metrics } from "./metrics.ts";
import type { MoreAttributes, Telemetry } from "./telemetry.ts";

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

class OpenTelemetry implements IdleObserver, EachObserver {
  readonly #options: OpenTelemetryOptions;
  readonly #maxContentBytes: number | undefined;
  readonly #open = new Map<string, TracedEvaluation>();
  #metrics: { readonly of: MeterProvider; readonly made: Metrics | undefined } | undefined;

  constructor(options: OpenTelemetryOptions) {
    this.#options = options;
    this.#maxContentBytes = contentBytes(options);
  }

  /** Whether no SDK is there, so that an evaluation that begins costs nothing. */
  [isIdle](): boolean {
    return this.#telemetry() === undefined;
  }

  /** Two forks of one run, side by side, have one id: each has its spans by its own observer. */
  [ofEvaluation](): Observer {
    let own: TracedEvaluation | undefined;
    return {
      event: (event) => own?.event(event),
      changed: (changes) => own?.changed(changes),
      around: (step, work) =>
        step.kind === "evaluation"
          ? this.#aroundEvaluation(step, work, (begun) => void (own = begun))
          : this.#aroundStep(own, step, work),
    };
  }

  event(...[event]: Parameters<NonNullable<Observer["event"]>>): void {
    if (this.#open.size > 0) this.#open.get(event.evaluationId)?.event(event);
  }

  changed(...[changes]: Parameters<NonNullable<Observer["changed"]>>): void {
    if (this.#open.size > 0) this.#open.get(changes.evaluationId)?.changed(changes);
  }

  around<T>(step: Step, work: () => Promise<T>): Promise<T> {
    if (step.kind === "evaluation") return this.#aroundEvaluation(step, work);
    return this.#aroundStep(this.#open.get(step.evaluationId), step, work);
  }

  #aroundStep<T>(
    evaluation: TracedEvaluation | undefined,
    step: Exclude<Step, { kind: "evaluation" }>,
    work: () => Promise<T>,
  ): Promise<T> {
    if (evaluation === undefined) return work();
    const more = this.#moreFor(step);
    const inside =
      step.kind === "request" ? evaluation.beginRequest(step, more.given) : evaluation.beginCall(step, more.given);
    return finished(context.with(inside, work), more);
  }

  #aroundEvaluation<T>(
    step: Extract<Step, { kind: "evaluation" }>,
    work: () => Promise<T>,
    begun?: (evaluation: TracedEvaluation) => void,
  ): Promise<T> {
    const telemetry = this.#telemetry();
    if (telemetry === undefined) return work();
    const more = this.#moreFor(step);
    const evaluation = new TracedEvaluation(telemetry, step, this.#aroundOf(step), more.given);
    this.#open.set(step.evaluationId, evaluation);
    begun?.(evaluation);
    const end = (error?: unknown): void => {
      // Forks of one run, side by side, have its id.
      if (this.#open.get(step.evaluationId) === evaluation) this.#open.delete(step.evaluationId);
      evaluation.end(error);
    };
    const ended = context.with(evaluation.inside.setValue(evaluationKey, evaluation), work).then(
      (value) => {
        end();
        return value;
      },
      (error: unknown) => {
        end(error ?? "error");
        throw error;
      },
    );
    return finished(ended, more);
  }

  /**
   * An evaluation inside a call is a child of its span, also where no context manager is registered. One that is knows
   * which evaluation is around, where several have its id.
   */
  #aroundOf({ parent }: Extract<Step, { kind: "evaluation" }>): Context {
    if (parent === undefined) return context.active();
    const active = context.active().getValue(evaluationKey);
    const isAround = active instanceof TracedEvaluation && active.id === parent.evaluationId;
    const around = isAround ? active : this.#open.get(parent.evaluationId);
    const inside = around?.insideCall(parent.callId);
    const span = inside && trace.getSpan(inside);
    return span === undefined ? context.active() : trace.setSpan(context.active(), span);
  }

  readonly #moreFor = (step: Step): MoreAttributes => {
    const { attributes } = this.#options;
    if (attributes === undefined) return nothingMore;
    try {
      // Read here, where what a getter throws is caught.
      return { given: { ...atOnce(attributes(step)) }, thrown: undefined };
    } catch (error) {
      return { given: {}, thrown: { error } };
    }
  };

  /** undefined: no SDK is there. */
  #telemetry(): Telemetry | undefined {
    const tracer = tracerOf(this.#options.tracerProvider ?? trace.getTracerProvider());
    const made = this.#metricsNow();
    if (tracer === undefined && made === undefined) return undefined;
    return { tracer, metrics: made, maxContentBytes: this.#maxContentBytes, moreFor: this.#moreFor };
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

const nothingMore: MoreAttributes = { given: {}, thrown: undefined };

/** Throws what the program's function threw, now that the work has begun: the runtime logs it. */
function finished<T>(work: Promise<T>, { thrown }: MoreAttributes): Promise<T> {
  if (thrown === undefined) return work;
  work.catch(() => {});
  throw thrown.error;
}

/** undefined: the process has registered no provider yet. */
function tracerOf(provider: TracerProvider): Tracer | undefined {
  return provider instanceof ProxyTracerProvider ? provider.getDelegateTracer(scope) : provider.getTracer(scope);
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
  const { process } = globalThis as { readonly process?: { readonly env?: Readonly<Record<string, string>> } };
  const asked = process?.env?.["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] ?? "";
  return ["TRUE", "SPAN_ONLY", "SPAN_AND_EVENT"].includes(asked.toUpperCase()) ? "spans" : "none";
}
