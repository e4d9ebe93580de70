import { type ModelFailure, type ModelProvider, type ModelRequest, type ModelResponse } from "@proviso/core";
import { modelFailureFrom } from "../http-failure.ts";
import type { ConformanceAnswer, ConformanceScript } from "./script.ts";

/** A model in process that answers from the script: what every adapter is compared with. */
export function referenceModel(script: ConformanceScript, nativeOutput: boolean): ModelProvider {
  let at = 0;
  let faulted = false;
  return {
    name: "reference",
    model: "reference",
    capabilities: { tools: true, nativeOutput, outputLimit: { least: 1 } },
    async generate(request) {
      const step = script[at];
      if (step === undefined) throw new Error(`The script has ${script.length} steps, and this is one more request.`);
      if ("fault" in step && step.fault !== undefined && !faulted) {
        faulted = true;
        return { failure: "throttle", kind: "unknown", message: "The connection failed." };
      }
      faulted = false;
      at += 1;
      return "status" in step ? refused(step.status, step.headers ?? {}, step.body) : answerOf(step, request);
    },
  };
}

function refused(status: number, headers: Readonly<Record<string, string>>, body: unknown): ModelFailure {
  return modelFailureFrom({ status, headers: new Headers(headers) }, body);
}

/** Four characters to a token where a limit cuts it short, as @proviso/simulator has it. */
const charactersPerToken = 4;

function answerOf(step: ConformanceAnswer, { onDelta, maxOutputTokens = Infinity }: ModelRequest): ModelResponse {
  const { toolCalls = [], usage, refusal } = step;
  const whole = step.text ?? (step.output === undefined ? "" : JSON.stringify(step.output));
  const text = whole.slice(0, maxOutputTokens * charactersPerToken);
  const isCut = text.length < whole.length;
  if (text !== "") onDelta?.({ kind: "text", text });
  const calls = toolCalls.map(({ id, name, arguments: given = {} }) => ({
    id,
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  }));
  return {
    message: { role: "assistant", text, toolCalls: calls },
    finishReason: isCut ? "length" : (step.finishReason ?? (calls.length > 0 ? "tool-calls" : "stop")),
    ...(usage === undefined || usage === null ? {} : { usage }),
    ...(refusal === undefined ? {} : { refusal }),
  };
}
