// Models that evaluate something over the pace in which they have their own turn.
import { definePrompt, type ModelProvider, type Pace, type ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback, hedged, paced, sharedPace, sharedPacing } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const capabilities = { tools: true, nativeOutput: false } as const;
const yes = { message: { role: "assistant", text: "yes", toolCalls: [] }, finishReason: "stop" } as const;
const turn = async (): Promise<void> => {
  for (let n = 0; n < 100; n++) await Promise.resolve();
};

function innermost(environment = fakeEnvironment()): ProviderAdapter {
  return modelAdapter(scriptedModel(Array.from({ length: 20 }, () => ({ text: "inner" }))), environment);
}

/** A model that asks before it answers. */
function consulting(ask: () => Promise<unknown>, environment = fakeEnvironment()): ProviderAdapter {
  const provider: ModelProvider = {
    name: "consulting",
    model: "m",
    capabilities,
    async generate() {
      await ask();
      return yes;
    },
  };
  return modelAdapter(provider, environment);
}

const paces: readonly [string, () => Pace, number][] = [
  ["with one request in flight", () => sharedPace({ maxInFlight: 1 }), 1],
  ["with two requests in flight", () => sharedPace({ maxInFlight: 2 }), 4],
  ["before its first answer", () => sharedPace(), 4],
];

// The clocks stand still: a wait that only a limit ends would be for ever.
test.each(paces)(
  "PAC-6 models that evaluate over their own pace %s do not wait for each other",
  async (_, make, count) => {
    const pacing = make();
    const adapter = consulting(() => innermost().evaluate(prompt, { pacing }));
    const all = await Promise.all(Array.from({ length: count }, () => adapter.evaluate(prompt, { pacing })));
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: count }, () => "yes"));
    expect(pacing.state()).toMatchObject({ queued: 0, inFlight: 0 });
  },
);

test.each(paces)("PAC-6 the same in a chain whose members share a pace %s", async (_, make, count) => {
  for (const chain of [fallback, (all: readonly ProviderAdapter[]) => hedged(all, { afterMs: 60_000 })]) {
    const pace = make();
    const inner = paced(innermost(), pace);
    const adapter = chain([
      paced(
        consulting(() => inner.evaluate(prompt)),
        pace,
      ),
      paced(innermost(), pace),
    ]);
    const all = await Promise.all(Array.from({ length: count }, () => adapter.evaluate(prompt)));
    expect(all.map(({ text }) => text)).toEqual(Array.from({ length: count }, () => "yes"));
    expect(pace.state()).toMatchObject({ queued: 0, inFlight: 0 });
  }
});

test("PAC-6 a model may evaluate itself over its own lane", async () => {
  const pacing = sharedPacing({ maxInFlight: 1 });
  let depth = 0;
  const adapter: ProviderAdapter = consulting(async () => {
    if (++depth < 4) await adapter.evaluate(prompt, { pacing });
  });
  expect((await adapter.evaluate(prompt, { pacing })).text).toBe("yes");
  expect(depth).toBe(4);
});

test("PAC-6 what a model began and left behind waits like any other", async () => {
  const pacing = sharedPace({ maxInFlight: 1 });
  const answered = Promise.withResolvers<void>();
  let behind: Promise<unknown> | undefined;
  let isBehind = false;
  const leaving = consulting(async () => {
    behind = turn()
      .then(() => innermost().evaluate(prompt, { pacing }))
      .then(() => (isBehind = true));
    await Promise.resolve();
  });
  await leaving.evaluate(prompt, { pacing });
  const other = consulting(() => answered.promise).evaluate(prompt, { pacing });
  await turn();
  await turn();
  expect([isBehind, pacing.state().queued]).toEqual([false, 1]);
  answered.resolve();
  await Promise.all([other, behind]);
});

test("PAC-6 PAC-2 what a model evaluates over its own pace keeps to the limits of the service, before those outside", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const startedAt = clock.now();
  const pacing = sharedPace({ requestsPerMinute: 60, maxInFlight: 1, clock });
  const at: [string, number][] = [];
  const noting = (name: string, evaluating: Promise<unknown>): Promise<unknown> =>
    evaluating.then(() => at.push([name, Math.round((clock.now() - startedAt) / 100)]));
  const ask = (): Promise<unknown> => innermost(environment).evaluate(prompt, { pacing });
  const both = async (): Promise<void> => {
    await turn();
    await Promise.all([noting("inside", ask()), noting("inside", ask())]);
  };
  const outer = noting("outer", consulting(both, environment).evaluate(prompt, { pacing }));
  const outside = noting("outside", ask());
  await clock.advance(10_000);
  await Promise.all([outer, outside]);
  expect(at).toEqual([
    ["inside", 9],
    ["inside", 19],
    ["outer", 19],
    ["outside", 29],
  ]);
});
