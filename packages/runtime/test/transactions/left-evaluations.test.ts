import { AsyncLocalStorage } from "node:async_hooks";
import {
  provide,
  type EvaluateOptions,
  type PromptResponse,
  type Resources,
  type Session,
  type ToolContext,
} from "@proviso/core";
import { createSession, createSnapshot, modelAdapter, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { Counter, CounterKey, noted, notes, promptOf, rejectionOf, slowAdd, toolOf } from "./support.ts";

type Views = { readonly session: Session; readonly resources: Resources };

async function world() {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const session = createSession({ slices: [notes] });
  const counter = new Counter();
  const resources = await openResources([provide(CounterKey, counter)]);
  const scope = { session, resources };
  let running = 0;
  const book = toolOf("book", async (context) => {
    running += 1;
    try {
      const own = context.resources.get(CounterKey);
      await clock.sleep(30, context.signal);
      own.value += 1;
      context.session.dispatch(noted({ text: `night ${own.value}` }));
      return own.value;
    } finally {
      running -= 1;
    }
  });
  /** So many turns with a call of 30 ms in each. */
  const nights = (count: number, { session: own, resources: from }: Views = scope, options: EvaluateOptions = {}) => {
    const turns = Array.from({ length: count }, () => ({ toolCalls: [{ name: "book" }] }));
    const adapter = modelAdapter(scriptedModel([...turns, { text: "All nights are booked." }]), environment);
    return adapter.evaluate(promptOf({ tools: [book] }), { session: own, resources: from, ...options });
  };
  const refused = modelAdapter(
    scriptedModel([{ failure: "provider", reason: "content_filter", message: "refused" }], { clock }),
    environment,
  );
  const flight = async (ms: number): Promise<unknown> => {
    await clock.sleep(ms);
    return refused.evaluate("Book a flight.", { session });
  };
  const state = (): readonly unknown[] => [counter.value, session.get(notes)];
  return { environment, clock, session, resources, scope, nights, flight, state, runningNow: () => running };
}

/** What it came to, and the cause of an abort. */
async function outcomeOf(evaluating: Promise<PromptResponse<unknown>> | undefined) {
  try {
    return (await evaluating)?.toolResults.map(({ result }) => result.success && result.value);
  } catch (error) {
    const { code, cause } = error as { readonly code: string; readonly cause?: { readonly message: string } };
    return `${code}: ${cause?.message}`;
  }
}

test("TX-9 a handler that does not heed its signal is undone too: the rollback waits for it, also inside a call", async () => {
  for (const isNested of [false, true]) {
    const { environment, clock, scope, flight, state } = await world();
    const add = slowAdd(environment, { ms: 100 });
    const adding = (from: ToolContext | undefined): Promise<unknown> => {
      const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "add" }] }, { text: "done" }]), environment);
      const prompt = promptOf({ tools: [add] });
      return from === undefined ? adapter.evaluate(prompt, scope) : from.evaluate(prompt, { adapter });
    };
    const outer = toolOf("outer", (context) => adding(context));
    const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "outer" }] }, { text: "done" }]), environment);
    const running = transaction(scope, async () => {
      const left = isNested ? adapter.evaluate(promptOf({ tools: [outer] }), scope) : adding(undefined);
      await Promise.all([left, flight(50)]);
    });
    const failed = rejectionOf(running).then((error) => [error["code"], clock.now(), state()]);
    const startedAt = clock.now();
    await clock.advance(1_000);
    expect(await failed).toEqual(["provider", startedAt + 100, [0, []]]);
    expect(state()).toEqual([0, []]);
  }
});

test("TX-9 a handler that never ends holds the rollback for five seconds, and no longer", async () => {
  const { environment, clock, scope, flight, state } = await world();
  const stuck = toolOf("stuck", ({ resources }) => {
    resources.get(CounterKey).value += 1;
    return new Promise<never>(() => {});
  });
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "stuck" }] }]), environment);
  const failed = rejectionOf(
    transaction(scope, () => Promise.all([adapter.evaluate(promptOf({ tools: [stuck] }), scope), flight(50)])),
  ).then((error) => [error["code"], clock.now()]);
  const startedAt = clock.now();
  await clock.advance(10_000);
  expect(await failed).toEqual(["provider", startedAt + 5_050]);
  expect(state()).toEqual([0, []]);
  expect(await transaction(scope, async () => "free")).toBe("free");
});

const undone = "aborted: the transaction without a tag is undone: its body has thrown.";
const ways = [
  ["known by the asynchronous context", (begin: () => unknown) => begin(), false],
  ["known by the views alone", AsyncLocalStorage.snapshot(), true],
] as const;

test.each(ways)(
  "TX-9 a body that throws aborts the evaluation that it began and that still runs: %s",
  async (_, outside, isByViews) => {
    for (const ms of [5, 40, 65, 75]) {
      const { clock, scope, nights, flight, state, runningNow } = await world();
      let hotel: Promise<PromptResponse<unknown>> | undefined;
      const running = transaction(scope, async (_rollback, views) => {
        hotel = outside(() => nights(3, isByViews ? views : scope)) as typeof hotel;
        await Promise.all([hotel, flight(ms)]);
      });
      const failed = rejectionOf(running).then((error) => [error["code"], runningNow(), state()]);
      await clock.advance(1_000);
      expect(await failed).toEqual(["provider", 0, [0, []]]);
      expect(await outcomeOf(hotel)).toBe(undone);
      expect(state()).toEqual([0, []]);
    }
  },
);

test.each(ways)(
  "TX-9 a body that returns leaves nothing outside: the evaluation that it left is waited for: %s",
  async (_, outside, isByViews) => {
    const { clock, scope, nights, state } = await world();
    let hotel: Promise<PromptResponse<unknown>> | undefined;
    const running = transaction(scope, async (_rollback, views) => {
      hotel = outside(() => nights(3, isByViews ? views : scope)) as typeof hotel;
      await clock.sleep(10);
    }).then(state);
    const beside = nights(1);
    await clock.advance(1_000);
    const all = [3, ["night 1", "night 2", "night 3"]];
    expect(await running).toEqual(all);
    expect([await outcomeOf(hotel), await outcomeOf(beside)]).toEqual([[1, 2, 3], [4]]);
  },
);

test("TX-9 what a left evaluation comes to is its own affair: the body that returned commits", async () => {
  const { clock, scope, nights, state } = await world();
  const controller = new AbortController();
  const running = transaction(scope, async () => {
    void nights(3, scope, { signal: controller.signal });
    await clock.sleep(40);
    return "committed";
  });
  await clock.advance(50);
  controller.abort();
  await clock.advance(500);
  expect([await running, state()]).toEqual(["committed", [1, ["night 1"]]]);
});

test.each(ways)(
  "TX-9 the body's rollback aborts the evaluations under way, and those that begin after it go on: %s",
  async (_, outside, isByViews) => {
    const { clock, scope, nights, state } = await world();
    const outcomes: unknown[] = [];
    const running = transaction(scope, async (rollback, views) => {
      const own = isByViews ? views : scope;
      const begin = () => outside(() => nights(3, own)) as ReturnType<typeof nights>;
      const first = outcomeOf(begin());
      await clock.sleep(45);
      const undoing = rollback();
      const second = outcomeOf(begin());
      await undoing;
      outcomes.push(state(), await first, await second);
    });
    await clock.advance(1_000);
    await running;
    const aborted = "aborted: the transaction without a tag is rolled back.";
    expect(outcomes).toEqual([[0, []], aborted, [1, 2, 3]]);
    expect(state()).toEqual([3, ["night 1", "night 2", "night 3"]]);
  },
);

test("TX-9 a rollback between two calls aborts as well, and one that is refused aborts nothing", async () => {
  const { environment, clock, scope, nights, state } = await world();
  const outcomes: unknown[] = [];
  const running = transaction(scope, async (rollback) => {
    const stuck = toolOf("stuck", async () => (await rejectionOf(rollback()))["code"]);
    const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "stuck" }] }, { text: "done" }]), environment);
    outcomes.push(await outcomeOf(adapter.evaluate(promptOf({ tools: [stuck] }), scope)));
    const model = scriptedModel([{ toolCalls: [{ name: "add" }] }, { text: "late", afterMs: 100 }], { clock });
    const add = slowAdd(environment, { ms: 10 });
    const left = outcomeOf(modelAdapter(model, environment).evaluate(promptOf({ tools: [add] }), scope));
    await clock.sleep(50);
    outcomes.push(state()[0]);
    await rollback();
    outcomes.push(await left, state()[0], await outcomeOf(nights(1)));
  });
  await clock.advance(1_000);
  await running;
  expect(outcomes).toEqual([["deadlock"], 1, "aborted: the transaction without a tag is rolled back.", 0, [1]]);
});

test("TX-9 evaluations of a transaction that was left in the body end with the body that throws", async () => {
  const { clock, scope, nights, state } = await world();
  const outcomes: unknown[] = [];
  const running = transaction(scope, async () => {
    const inner = transaction(scope, async () => {
      outcomes.push(await outcomeOf(nights(3)), await outcomeOf(nights(1)));
    });
    inner.catch(() => {});
    await clock.sleep(40);
    throw new Error("it failed");
  });
  const failed = rejectionOf(running);
  await clock.advance(1_000);
  expect(await failed).toMatchObject({ message: "it failed" });
  expect([outcomes, state()]).toEqual([
    [undone, undone],
    [0, []],
  ]);
});

test.each([true, false])(
  "TX-9 nothing begins over its session or its resources in what the body left: it throws: %s",
  async (throws) => {
    const { environment, clock, scope, nights, state } = await world();
    const outcomes: unknown[] = [];
    let left: Promise<void> | undefined;
    let kept: Views | undefined;
    const running = transaction(scope, async (_rollback, views) => {
      kept = views;
      left = (async () => {
        await clock.sleep(50);
        const elsewhere = createSession({ slices: [notes] });
        const codes = [() => nights(1), () => nights(1, { ...scope, session: elsewhere })].map(async (begin) => {
          const { code, message } = await rejectionOf(begin());
          return `${String(code)}: ${message}`;
        });
        const refused = [transaction(scope, async () => {}), createSnapshot(scope)].map(async (begun) => {
          return (await rejectionOf(begun))["code"];
        });
        outcomes.push(await Promise.all([...codes, ...refused]));
        const alone = modelAdapter(scriptedModel([{ text: "Hello." }]), environment);
        outcomes.push((await alone.evaluate("Hello.", { session: elsewhere })).output);
      })();
      if (throws) throw new Error("it failed");
    }).catch(() => {});
    await clock.advance(10);
    await running;
    await clock.advance(1_000);
    await left;
    const why =
      "render: the transaction without a tag is over: what its body left may begin nothing over its session or its resources any more. Await it in the body.";
    expect(outcomes).toEqual([[why, why, "revoked", "revoked"], "Hello."]);
    const views = kept as Views;
    expect(await rejectionOf(nights(1, views))).toMatchObject({ code: "render", cause: { code: "revoked" } });
    expect(await rejectionOf(transaction(views, async () => {}))).toMatchObject({ code: "revoked" });
    expect(state()).toEqual([0, []]);
    const after = nights(1);
    await clock.advance(100);
    expect(await outcomeOf(after)).toEqual([1]);
  },
);

test("TX-9 what an inner body left is part of the body around it", async () => {
  const { clock, scope, nights, state } = await world();
  const running = transaction(scope, async () => {
    const other = { ...scope, session: createSession(), resources: await openResources([]) };
    let left: Promise<unknown> | undefined;
    await transaction(other, async () => {
      left = clock.sleep(10).then(() => outcomeOf(nights(1)));
    });
    const outcome = await left;
    throw new Error(String(outcome));
  });
  const failed = rejectionOf(running);
  await clock.advance(1_000);
  expect(await failed).toMatchObject({ message: "1" });
  expect(state()).toEqual([0, []]);
});

test.each([true, false])(
  "TX-9 a transaction that was left in the body ends before it: the body throws: %s",
  async (throws) => {
    const { clock, session, scope, state } = await world();
    const running = transaction(scope, async () => {
      const inner = transaction(scope, async () => {
        await clock.sleep(50);
        session.dispatch(noted({ text: "inner" }));
      });
      inner.catch(() => {});
      await clock.sleep(10);
      if (throws) throw new Error("it failed");
    }).catch(() => {});
    const ended = running.then(state);
    await clock.advance(1_000);
    const all = throws ? [] : ["inner"];
    expect([await ended, state()]).toEqual([
      [0, all],
      [0, all],
    ]);
  },
);
