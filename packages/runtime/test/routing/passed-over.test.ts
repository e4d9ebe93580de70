import {
  definePrompt,
  type ModelFailure,
  type ModelProvider,
  type ProviderAdapter,
  type RouteStep,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const settings = { seed: 1 } as const;
const able = { tools: true, nativeOutput: false, settings: ["seed"] } as const;
const unable = { tools: true, nativeOutput: false, settings: ["topP"] } as const;
const noKey: ModelFailure = { failure: "provider", reason: "api_key", message: "No key" };
const busy: ModelFailure = { failure: "throttle", kind: "server_error", message: "Busy.", retry: false };
const why = "second does not take the setting seed. It takes topP.";
const skipped: RouteStep = { provider: "second", model: "m", outcome: "skipped", why, durationMs: 0 };

const { clock, random } = fakeEnvironment();
function adapterOf(name: string, steps: readonly ScriptedStep[], capabilities: ModelProvider["capabilities"]) {
  const model: ModelProvider = { ...scriptedModel(steps), name, model: "m", capabilities };
  return modelAdapter(model, { clock, random });
}
const kinds = ["fallback", "hedged"] as const;
const chainOf = (kind: (typeof kinds)[number], adapters: readonly ProviderAdapter[]): ProviderAdapter =>
  kind === "fallback" ? fallback(adapters) : hedged(adapters, { afterMs: 5 });

test.each(kinds)("RTE-6 %s: a failure names who could not be asked, and why", async (kind) => {
  const session = createSession();
  const routes: unknown[] = [];
  session.on("provider.throttled", ({ route }) => void routes.push(route));
  const adapters = (failure: ModelFailure) => [adapterOf("first", [failure], able), adapterOf("second", [], unable)];
  const busied = chainOf(kind, adapters(busy)).evaluate(prompt, { session, settings });
  await expect(busied).rejects.toThrow(`Busy. Not asked: ${why}`);
  expect(routes).toEqual([expect.arrayContaining([skipped])]);
  // One that ends the evaluation names those that were passed over before it.
  const refused = chainOf(kind, adapters(noKey).toReversed()).evaluate(prompt, { settings });
  await expect(refused).rejects.toThrow(`No key. Not asked: ${why}`);
});

test.each(kinds)("RTE-6 %s: the route of an answer says why one was not asked", async (kind) => {
  const session = createSession();
  let route: readonly RouteStep[] = [];
  session.on("provider.responded", (event) => void (route = event.route ?? []));
  const chain = chainOf(kind, [adapterOf("second", [], unable), adapterOf("first", [{ text: "Yes." }], able)]);
  await chain.evaluate(prompt, { session, settings });
  expect(route[0]).toEqual(skipped);
  expect(route[1]).toMatchObject({ provider: "first", outcome: "answered" });
  expect(route[1]).not.toHaveProperty("why");
});

test("RTE-7 the route says why one whose breaker is open was not asked", async () => {
  const environment = fakeEnvironment();
  const failing = adapterOf("failing", [{ ...busy, retry: true }, { text: "Yes." }], able);
  const other = adapterOf("other", [{ text: "Yes." }, { text: "Yes." }], able);
  const chain = fallback([failing, other], { breaker: { failures: 1 }, ...environment });
  const session = createSession();
  let route: readonly RouteStep[] = [];
  session.on("provider.responded", (event) => void (route = event.route ?? []));
  await chain.evaluate(prompt, { session });
  await chain.evaluate(prompt, { session });
  expect(route[0]).toMatchObject({
    outcome: "skipped",
    why: "failing was not asked: it failed too often of late, or asked to wait.",
  });
});
