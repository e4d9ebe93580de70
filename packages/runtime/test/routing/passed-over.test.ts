import {
  deadlineIn,
  definePrompt,
  type ModelFailure,
  type ModelProvider,
  type ProviderAdapter,
  type RouteStep,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback, hedged, paced, sharedPace } from "@proviso/runtime/routing";
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

test.each(kinds)(
  "RTE-3 %s: a request that the paces of all members hold back says that nothing was sent",
  async (kind) => {
    const { clock: time, random: chance } = fakeEnvironment();
    const heldBack = (name: string): ProviderAdapter => {
      const pace = sharedPace({ requestsPerMinute: 1, clock: time });
      for (let sent = 0; sent < 2; sent++) void pace.enter({ inputTokens: 1, outputTokens: 1 });
      const model: ModelProvider = { ...scriptedModel([]), name, model: "m" };
      return paced(modelAdapter(model, { clock: time, random: chance }), pace);
    };
    const session = createSession();
    const routes: unknown[] = [];
    session.on("provider.throttled", ({ route }) => void routes.push(route));
    const chain = chainOf(kind, [heldBack("first"), heldBack("second")]);
    await expect(chain.evaluate(prompt, { session, deadline: deadlineIn(1_000, time) })).rejects.toMatchObject({
      code: "throttled",
      kind: "rate_limit",
      retryAfterMs: expect.any(Number) as number,
      message: expect.stringMatching(
        /^The request was not sent \(rate_limit\): first: By its pace first could be asked in \d+ ms, which is after the deadline\. second: .* after the deadline\.$/,
      ) as string,
    });
    const outcome = { outcome: "skipped", why: expect.stringContaining("By its pace") as string };
    expect(routes).toMatchObject([[outcome, outcome]]);
  },
);

test.each(kinds)(
  "RTE-3 %s: one member that was asked has refused the request, whatever held the other back",
  async (kind) => {
    const pace = sharedPace({ requestsPerMinute: 1, clock });
    for (let sent = 0; sent < 2; sent++) void pace.enter({ inputTokens: 1, outputTokens: 1 });
    const chain = chainOf(kind, [paced(adapterOf("first", [], able), pace), adapterOf("second", [busy], able)]);
    const evaluating = chain.evaluate(prompt, { deadline: deadlineIn(1_000, clock) });
    await expect(evaluating).rejects.toThrow(
      /^The provider refused the request \(rate_limit\): first: By its pace first/,
    );
  },
);

test("RTE-7 where all breakers are open, the error says that nothing was sent", async () => {
  const environment = fakeEnvironment();
  const failing = { ...busy, retryAfterMs: 5_000 };
  const chain = fallback([adapterOf("failing", [failing], able)], { breaker: { failures: 1 }, ...environment });
  await expect(chain.evaluate(prompt)).rejects.toThrow("The provider refused the request (server_error): Busy.");
  const options = { deadline: deadlineIn(1_000, environment.clock) };
  await expect(chain.evaluate(prompt, options)).rejects.toThrow(
    /^The request was not sent \(server_error\): failing was not asked: it failed too often of late, or asked to wait\.$/,
  );
});
