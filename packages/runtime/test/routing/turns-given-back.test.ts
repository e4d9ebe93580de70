import {
  deadlineIn,
  definePrompt,
  trackBudget,
  type EvaluateOptions,
  type ModelFailure,
  type ModelProvider,
  type Pace,
  type ProviderAdapter,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback, paced, sharedPace } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();

const model = (answer: () => ModelFailure): ModelProvider => ({
  name: "m",
  model: "m-1",
  maxOutputTokens: 100,
  capabilities: { tools: true, nativeOutput: true },
  generate: async () => answer(),
});

/** A pace at which nothing waits, with how its turns ended. */
function watchedPace(): { readonly pace: Pace; readonly ends: string[] } {
  const own = sharedPace();
  const ends: string[] = [];
  const turn = { queuedMs: 0, end: () => void ends.push("end"), giveBack: () => void ends.push("giveBack") };
  return { pace: { state: () => own.state(), enter: async () => ({ ok: true, turn }) }, ends };
}

const never = (): never => {
  throw new Error("It was sent.");
};
const tooSmall = { budget: { maxInputTokens: 1 } };

/** Options with which an evaluation comes to its turn, and sends nothing. */
const unsent: readonly (readonly [why: string, code: string, options: () => EvaluateOptions])[] = [
  ["the budget has no room", "budget", () => tooSmall],
  [
    "a listener aborts",
    "aborted",
    () => {
      const [session, controller] = [createSession(), new AbortController()];
      session.on("provider.requested", () => controller.abort());
      return { session, signal: controller.signal };
    },
  ],
  [
    "it is aborted while it waits for the budget",
    "aborted",
    () => {
      const [budget, controller] = [trackBudget({ maxTotalTokens: 1_000 }), new AbortController()];
      const holding = modelAdapter({ ...model(never), generate: () => new Promise(() => {}) });
      void holding.evaluate(prompt, { budget });
      const session = createSession();
      session.on("prompt.rendered", () => void setImmediate(() => controller.abort()));
      return { budget, signal: controller.signal, session };
    },
  ],
];

test.each(unsent)("PAC-4 a turn whose request is not sent because %s is given back", async (_, code, options) => {
  const adapter = modelAdapter({ ...model(never), maxOutputTokens: 900 }, fakeEnvironment());
  const [single, ofMember, whole] = [watchedPace(), watchedPace(), watchedPace()];
  await expect(paced(adapter, single.pace).evaluate(prompt, options())).rejects.toMatchObject({ code });
  await expect(fallback([paced(adapter, ofMember.pace)]).evaluate(prompt, options())).rejects.toMatchObject({ code });
  await expect(fallback([adapter]).evaluate(prompt, { ...options(), pacing: whole.pace })).rejects.toMatchObject({
    code,
  });
  // A chain takes its room, and says that it asks, before its members enter their paces.
  expect([single.ends, ofMember.ends, whole.ends]).toEqual([["giveBack"], [], ["giveBack"]]);
});

test("PAC-4 RTE-7 a chain that has sent nothing, since all of its models were passed over, gives its turn back", async () => {
  const environment = fakeEnvironment();
  const busy: ModelFailure = { failure: "throttle", kind: "server_error", retry: false, message: "Busy." };
  const { pace, ends } = watchedPace();
  const chain = fallback(
    [
      modelAdapter(
        model(() => busy),
        environment,
      ),
    ],
    { breaker: { failures: 1 }, ...environment },
  );
  const refused = (adapter: ProviderAdapter, pacing?: Pace) =>
    expect(adapter.evaluate(prompt, { pacing, deadline: deadlineIn(1, environment.clock) })).rejects.toMatchObject({
      code: "throttled",
    });
  await refused(chain, pace);
  await refused(chain, pace);
  const inside = watchedPace();
  await refused(fallback([paced(chain, inside.pace)]));
  expect([ends, inside.ends]).toEqual([["end", "giveBack"], ["giveBack"]]);
});

test("PAC-3 PAC-4 a turn that a pace of the application's gives after the evaluation has ended is given back", async () => {
  const { pace, ends } = watchedPace();
  const [entered, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const late: Pace = {
    state: () => pace.state(),
    // It does not look at the signal.
    enter(...given) {
      entered.resolve();
      return letGo.promise.then(() => pace.enter(...given));
    },
  };
  const leaving = new AbortController();
  const evaluating = paced(modelAdapter(model(never)), late).evaluate(prompt, { signal: leaving.signal });
  await entered.promise;
  leaving.abort();
  await expect(evaluating).rejects.toMatchObject({ code: "aborted" });
  expect(ends).toEqual([]);
  letGo.resolve();
  await new Promise((done) => setImmediate(done));
  expect(ends).toEqual(["giveBack"]);
});
