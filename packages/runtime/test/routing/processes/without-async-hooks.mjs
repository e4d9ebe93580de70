// Three requests over a pace and a budget that has room for one at a time, on a host without AsyncLocalStorage.
const real = process.getBuiltinModule;
process.getBuiltinModule = (id) => (id.includes("async_hooks") ? undefined : real(id));
const { trackBudget } = await import("@proviso/core");
const { modelAdapter } = await import("@proviso/runtime");
const { paced, sharedPace } = await import("@proviso/runtime/routing");
const { fakeEnvironment, scriptedModel } = await import("@proviso/runtime/testing");
const environment = fakeEnvironment(1, { turns: 1 });
const { clock } = environment;
const model = scriptedModel(
  Array.from({ length: 3 }, () => ({ text: "ok", afterMs: 1_000 })),
  environment,
);
const pace = sharedPace({ clock, requestsPerMinute: 600, maxInFlight: 2 });
const adapter = paced(modelAdapter(model, environment), pace);
const budget = trackBudget({ maxTotalTokens: 16_000 });
const texts = [];
for (const text of ["a", "b", "c"]) void adapter.evaluate(text, { budget }).then((answer) => texts.push(answer.text));
await clock.advance(60_000);
const { queued, inFlight } = pace.state();
console.log(JSON.stringify({ texts, queued, inFlight }));
