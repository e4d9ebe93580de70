import { chaosOf, type Chaos } from "./chaos.ts";
import { checkStep } from "./check-options.ts";
import { conversationKey, recentCounts } from "./conversation.ts";
import { fallbackRule, instanceOf } from "./fallback-rule.ts";
import { checkFault, faultApplies, faults, needsCall, type FaultName } from "./faults.ts";
import { badRequest, type Refusal } from "./refusal.ts";
import type { AnswerStep, Api, HttpStep, SimulatedRequest, SimulatorRule, SimulatorStep } from "./types.ts";

export interface ScriptOptions {
  readonly steps?: readonly SimulatorStep[] | undefined;
  readonly rules?: readonly SimulatorRule[] | undefined;
  readonly faults?: readonly { readonly fault: FaultName; readonly at?: number | undefined }[] | undefined;
  readonly chaos?: Chaos | undefined;
}

/** What a request gets. */
export interface Scripted {
  readonly step: AnswerStep | HttpStep;
  readonly fault: FaultName | undefined;
}

/**
 * What is answered, request by request.
 * 1. A step is used up by the answer that says it, distorted or not; never by a fault that comes in its place.
 * 2. A step's own fault comes once; a rule's comes once each time its conversation gets to that turn.
 * 3. What one conversation gets from rules and chaos does not depend on the others.
 */
export interface Script {
  /** @throws {Refusal} when the steps are used up. @throws {TypeError} for a step that is none. */
  next(request: SimulatedRequest): Scripted;
}

export function scriptOf(options: ScriptOptions): Script {
  return options.steps === undefined ? ruled(options) : stepped(options.steps, options);
}

function stepped(steps: readonly SimulatorStep[], options: ScriptOptions): Script {
  const choose = chooser(options);
  let at = 0;
  /** Whether the own fault of the step `at` has come. */
  let faulted = false;
  return {
    next(request) {
      const step = resolved(steps[at] ?? usedUp(steps.length, request), request);
      const own = faulted ? undefined : ownFault(step);
      const fault = choose(request, step, own);
      const comesBefore = fault !== undefined && (faults[fault].passing || !distorts(fault, step));
      faulted = comesBefore && (faulted || own !== undefined);
      if (!comesBefore) at += 1;
      return { step: fault === undefined ? step : stepFor(fault, step, request), fault };
    },
  };
}

function ruled(options: ScriptOptions): Script {
  const choose = chooser(options);
  const given = recentCounts();
  return {
    next(request) {
      const step = ruledStep(options.rules ?? [], request);
      let own = ownFault(step);
      if (own !== undefined && faults[own].passing) {
        const key = conversationKey(request);
        const again = given.get(key) > 0;
        given.set(key, again ? 0 : 1);
        if (again) own = undefined;
      }
      // A rule would answer the turn that follows a made-up call with another one, for ever.
      const fault = choose(request, step, own !== undefined && distorts(own, step) ? own : undefined);
      return { step: fault === undefined ? step : stepFor(fault, step, request), fault };
    },
  };
}

type Choose = (
  request: SimulatedRequest,
  step: AnswerStep | HttpStep,
  own: FaultName | undefined,
) => FaultName | undefined;

/** The step's own fault, the one for the request's number, the first of those for all requests that fits, chance's. */
function chooser({ faults: list = [], chaos }: ScriptOptions): Choose {
  const chance = chaos && chaosOf(chaos);
  return (request, step, own) => {
    const { stream } = request;
    const fits = (name: FaultName): boolean => faultApplies(name, request.api, stream) && distorts(name, step);
    const exact = own ?? list.find(({ at }) => at === request.index)?.fault;
    if (exact !== undefined) {
      if (!faultApplies(exact, request.api, stream)) throw notApplicable(exact, wireOf(request.api, stream));
      if ("status" in step && !fits(exact)) throw notApplicable(exact, "an HTTP answer as it is");
      return exact;
    }
    return list.find(({ fault, at }) => at === undefined && fits(fault))?.fault ?? chance?.(request, fits);
  };
}

function wireOf(api: Api, stream: boolean): string {
  return `${stream ? "a stream" : "JSON"} of ${apiNames[api]}`;
}

const apiNames: { readonly [api in Api]: string } = {
  responses: "the Responses API",
  chat: "the Chat Completions API",
  anthropic: "Anthropic's Messages API",
  gemini: "Gemini's generateContent",
};

function notApplicable(fault: FaultName, what: string): Refusal {
  return badRequest(
    `The simulator's fault '${fault}' means nothing for ${what}.`,
    undefined,
    "simulator_fault_not_applicable",
  );
}

function ruledStep(rules: readonly SimulatorRule[], request: SimulatedRequest): AnswerStep | HttpStep {
  for (const rule of rules) {
    const step = rule(request);
    if (step !== undefined) return resolved(step, request);
  }
  return fallbackRule(request);
}

function resolved(step: SimulatorStep, request: SimulatedRequest): AnswerStep | HttpStep {
  return checkStep(typeof step === "function" ? step(request) : step, "The step that was made");
}

function usedUp(length: number, { index }: SimulatedRequest): never {
  const message = `The simulator's script is used up: it has ${length} steps, and this is request ${index + 1}.`;
  throw badRequest(message, undefined, "simulator_script_exhausted");
}

function ownFault(step: AnswerStep | HttpStep): FaultName | undefined {
  return "status" in step || step.fault === undefined ? undefined : checkFault(step.fault);
}

/** Whether there is something in the step for the fault to distort. */
function distorts(fault: FaultName, step: AnswerStep | HttpStep): boolean {
  const { group } = faults[fault];
  if ("status" in step) return ["status", "transport", "sending"].includes(group) && fault !== "stream_for_json";
  return !needsCall(fault) || (step.toolCalls ?? []).length > 0;
}

/** A fault of calls that was asked for where there are none: a call of the first tool comes before the step. */
function stepFor(fault: FaultName, step: AnswerStep | HttpStep, request: SimulatedRequest): AnswerStep | HttpStep {
  if (distorts(fault, step)) return step;
  const [tool] = request.tools;
  const given = tool === undefined ? {} : instanceOf(tool.parameters, tool.parameters, "made up", 0);
  return { toolCalls: [{ name: tool?.name ?? "simulated_tool", arguments: (given ?? {}) as object }] };
}
