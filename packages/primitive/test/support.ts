import type { ModelFailure, ModelProvider } from "@proviso/core";
import {
  definePrimitive,
  type PrimitiveDefinition,
  type PrimitiveFailure,
  type PrimitiveResult,
} from "@proviso/primitive";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { z } from "zod";

export const label = z.object({ label: z.enum(["good", "bad"]) });
export const systemPrompt = "Classify the text.";

type More = Partial<Omit<PrimitiveDefinition<typeof label>, "adapter">>;

/** A classifier over a script; what is random or waits is not. */
export function classifier(steps: readonly ScriptedStep[], more: More = {}, model = scriptedModel(steps)) {
  const { clock, random, newId } = fakeEnvironment();
  const primitive = definePrimitive({
    name: "classify",
    systemPrompt,
    output: label,
    model: "scripted-model",
    adapter: ({ throttle }) => modelAdapter(model, { clock, random, newId, throttle }),
    ...more,
  });
  return { primitive, model, clock };
}

/** Over a model that cannot be told a schema. */
export function withoutNativeOutput(steps: readonly ScriptedStep[]): ScriptedModel {
  return scriptedModel(steps, { capabilities: { nativeOutput: false } });
}

export function failed(result: PrimitiveResult<unknown>): PrimitiveFailure {
  if (result.success) throw new Error(`It succeeded: ${JSON.stringify(result.data)}`);
  return result;
}

export const refused = (reason: Extract<ModelFailure, { failure: "provider" }>["reason"]): ModelFailure => ({
  failure: "provider",
  reason,
  message: `The provider said ${reason}.`,
});

/** A provider that nobody may ask. */
export const neverAsked: ModelProvider = {
  name: "never",
  model: "never",
  capabilities: { tools: true, nativeOutput: true },
  generate: () => Promise.reject(new Error("It was asked.")),
};
