import { Filesystem, provide, provideFactory } from "@proviso/core";
import {
  createSession,
  createSnapshot,
  memoryFilesystem,
  openResources,
  restoreSnapshot,
  transaction,
} from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import {
  calling,
  Counter,
  CounterKey,
  noted,
  notes,
  promptOf,
  OtherKey,
  rejectionOf,
  slowAdd,
  toolOf,
  type Environment,
} from "./support.ts";

async function world() {
  const environment = fakeEnvironment();
  const session = createSession({ slices: [notes] });
  const files = memoryFilesystem();
  const resources = await openResources([provide(Filesystem, files)]);
  const change = async (text: string) => {
    session.dispatch(noted({ text }));
    await files.write(`${text}.txt`, text);
  };
  const state = async () => [session.get(notes), await files.glob("**")];
  return { environment, session, files, resources, change, state, scope: { session, resources } };
}
type World = Awaited<ReturnType<typeof world>>;

/** A call that notes and writes, a while after it began. */
function evaluation({ environment, session, resources }: World, text: string, ms: number, fail = false) {
  const note = toolOf("note", async (context) => {
    await environment.clock.sleep(ms);
    context.session.dispatch(noted({ text }));
    await context.resources.get(Filesystem).write(`${text}.txt`, text);
    if (fail) throw new Error("it failed");
    return "noted";
  });
  return calling(environment, "note").evaluate(promptOf({ tools: [note] }), { session, resources });
}

function body({ environment, change }: World, text: string, ms: number, fail: boolean): () => Promise<string> {
  return async () => {
    await change(text);
    await environment.clock.sleep(ms);
    if (fail) throw new Error("it failed");
    return "committed";
  };
}

test("TX-9 TX-2 a transaction that fails undoes no call of an evaluation beside it", async () => {
  const all = await world();
  const failing = rejectionOf(transaction(all.scope, body(all, "A", 60, true)));
  const evaluating = evaluation(all, "B", 10);
  await all.environment.clock.advance(500);
  await failing;
  expect((await evaluating).toolResults[0]?.result.success).toBe(true);
  expect(await all.state()).toEqual([["B"], ["B.txt"]]);
});

test("TX-9 TX-2 a call that fails undoes no transaction beside it", async () => {
  const all = await world();
  const evaluating = evaluation(all, "A", 60, true);
  await all.environment.clock.advance(1);
  const done = transaction(all.scope, body(all, "B", 10, false));
  await all.environment.clock.advance(500);
  expect(await done).toBe("committed");
  await evaluating;
  expect(await all.state()).toEqual([["B"], ["B.txt"]]);
});

test("TX-9 TX-2 a transaction that fails undoes no other transaction", async () => {
  const all = await world();
  const failing = rejectionOf(transaction(all.scope, body(all, "A", 60, true)));
  const done = transaction(all.scope, body(all, "B", 10, false));
  await all.environment.clock.advance(500);
  await failing;
  expect(await done).toBe("committed");
  expect(await all.state()).toEqual([["B"], ["B.txt"]]);
});

test("TX-9 what the application dispatches while a body runs stands when that fails", async () => {
  const all = await world();
  const failing = rejectionOf(transaction(all.scope, body(all, "A", 60, true)));
  await all.environment.clock.advance(10);
  all.session.dispatch(noted({ text: "the application's" }));
  await all.environment.clock.advance(500);
  await failing;
  expect(await all.state()).toEqual([["the application's"], []]);
});

/** An evaluation over what the transaction is over, begun in its body. */
function inside(all: World, environment: Environment, views?: Pick<World, "session" | "resources">) {
  return evaluation({ ...all, ...views, environment } as World, "inside", 10);
}

test.each([
  ["the session and resources of the transaction", false],
  ["the views that the body was given", true],
])("TX-9 an evaluation in the body, with %s, is part of the transaction", async (_, withViews) => {
  for (const fail of [true, false]) {
    const all = await world();
    const running = transaction(all.scope, async (_rollback, views) => {
      await all.change("body");
      const { toolResults } = await inside(all, all.environment, withViews ? (views as never) : undefined);
      expect(toolResults[0]?.result.success).toBe(true);
      if (fail) throw new Error("it failed");
    }).catch(() => {});
    const beside = evaluation(all, "beside", 5);
    await all.environment.clock.advance(500);
    await Promise.all([running, beside]);
    const both = fail ? ["beside"] : ["body", "inside", "beside"];
    expect(await all.state()).toEqual([both, both.map((text) => `${text}.txt`).toSorted()]);
  }
});

test("TX-9 the body's rollback undoes the evaluations in it, and nothing of others", async () => {
  const all = await world();
  const running = transaction(all.scope, async (rollback) => {
    await all.change("body");
    await inside(all, all.environment);
    await rollback();
    await all.change("after");
  });
  await all.environment.clock.advance(5);
  all.session.dispatch(noted({ text: "the application's" }));
  await all.environment.clock.advance(500);
  await running;
  expect(await all.state()).toEqual([["the application's", "after"], ["after.txt"]]);
});

test("TX-9 a nested transaction that committed is undone with the one around it", async () => {
  const all = await world();
  await rejectionOf(
    transaction(all.scope, async () => {
      await transaction(all.scope, () => all.change("inner"));
      throw new Error("outer");
    }),
  );
  expect(await all.state()).toEqual([[], []]);
});

test("TX-9 the session that the body restores to an earlier snapshot is as before when it fails", async () => {
  const all = await world();
  const empty = all.session.snapshot();
  await all.change("kept");
  await rejectionOf(
    transaction(all.scope, async () => {
      all.session.restore(empty);
      throw new Error("it failed");
    }),
  );
  expect(all.session.get(notes)).toEqual(["kept"]);
});

test("TX-9 a transaction waits for an evaluation that its body began and left", async () => {
  const all = await world();
  let left: Promise<unknown> | undefined;
  const running = transaction(all.scope, async () => {
    left = evaluation(all, "left", 100).catch(() => {});
    await all.environment.clock.sleep(10);
    throw new Error("it failed");
  }).catch(() => {});
  await all.environment.clock.advance(1_000);
  await Promise.all([running, left]);
  expect(await all.state()).toEqual([[], []]);
});

test("TX-9 what a call makes after the body has returned is undone with the transaction around", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const session = createSession({ slices: [notes] });
  const closed: number[] = [];
  let made = 0;
  const counter = provideFactory(CounterKey, () => Object.assign(new Counter(), { number: ++made }), {
    close: (instance) => void closed.push((instance as Counter & { number: number }).number),
  });
  const resources = await openResources([counter]);
  const add = toolOf("add", async (context) => {
    await clock.sleep(100);
    context.resources.get(CounterKey).value += 1;
    context.session.dispatch(noted({ text: "added" }));
  });
  let left: Promise<unknown> | undefined;
  const running = transaction({ session, resources }, async (_, views) => {
    await transaction(views, async (__, inner) => {
      left = calling(environment, "add").evaluate(promptOf({ tools: [add] }), inner);
      await clock.sleep(10);
    });
    throw new Error("it failed");
  });
  const failed = rejectionOf(running);
  await clock.advance(1_000);
  expect(await failed).toMatchObject({ message: "it failed" });
  await left;
  expect([session.get(notes), made, closed]).toEqual([[], 1, [1]]);
});

test("TX-9 a snapshot is taken, and restored, between the calls of others and never in the middle of one", async () => {
  const all = await world();
  const first = evaluation(all, "A", 20);
  await all.environment.clock.advance(1);
  const taking = createSnapshot(all.scope);
  await all.environment.clock.advance(100);
  await first;
  const snapshot = await taking;
  const second = evaluation(all, "B", 20);
  await all.environment.clock.advance(1);
  const restoring = restoreSnapshot(all.scope, snapshot);
  await all.environment.clock.advance(100);
  await Promise.all([second, restoring]);
  expect(await all.state()).toEqual([["A"], ["A.txt"]]);
});

test.each([
  ["a factory", "declares nothing", () => new Counter(), []],
  ["a factory", "declares the key", () => new Counter(), [CounterKey]],
  ["an async factory", "declares nothing", async () => new Counter(), []],
  ["an async factory", "declares the key", async () => new Counter(), [CounterKey]],
] as const)(
  "TX-9 TX-4 what an evaluation in the body does to a resource that %s makes there is undone; the tool %s",
  async (_factory, _declared, create, uses) => {
    const environment = fakeEnvironment();
    const session = createSession();
    const counters: Counter[] = [];
    const made = (counter: Counter): Counter => {
      counters.push(counter);
      return counter;
    };
    const kept = new Counter();
    await using resources = await openResources([
      provideFactory(CounterKey, () => {
        const counter = create();
        return counter instanceof Counter ? made(counter) : counter.then(made);
      }),
      provideFactory(OtherKey, () => kept),
    ]);
    const add = toolOf(
      "add",
      async (context) => {
        (await context.resources.open(CounterKey)).value += 1;
        (await context.resources.open(OtherKey)).value += 1;
      },
      uses.length === 0 ? {} : { uses: [CounterKey, OtherKey] },
    );
    const evaluate = () => calling(environment, "add").evaluate(promptOf({ tools: [add] }), { session, resources });
    await transaction({ session, resources }, async (rollback) => {
      await evaluate();
      await evaluate();
      expect([counters.at(-1)?.value, kept.value]).toEqual([2, 2]);
      await rollback();
      expect([counters.at(-1)?.value, kept.value]).toEqual([0, 0]);
      await evaluate();
    });
    expect([counters.at(-1)?.value, kept.value]).toEqual([1, 1]);
    const failed = transaction({ session, resources }, async () => {
      await evaluate();
      throw new Error("no more ideas");
    });
    await rejectionOf(failed);
    expect([(await resources.open(CounterKey)).value, (await resources.open(OtherKey)).value]).toEqual([1, 1]);
  },
);

test("TX-9 an evaluation beside the body waits for what was made in it", async () => {
  const environment = fakeEnvironment();
  const session = createSession();
  const counter = new Counter();
  await using resources = await openResources([provideFactory(CounterKey, () => counter)]);
  const add = slowAdd(environment, { ms: 1 });
  const evaluate = (own = session) =>
    calling(environment, "add").evaluate(promptOf({ tools: [add] }), { session: own, resources });
  const inside = Promise.withResolvers<void>();
  const body = transaction({ session, resources }, async () => {
    await evaluate();
    inside.resolve();
    await environment.clock.sleep(50);
    throw new Error("no more ideas");
  });
  await environment.clock.advance(1);
  await inside.promise;
  const beside = evaluate(createSession());
  const failed = rejectionOf(body);
  await environment.clock.advance(200);
  expect(await failed).toMatchObject({ message: "no more ideas" });
  await beside;
  expect((await resources.open(CounterKey)).value).toBe(1);
});

test("TX-9 work that a body only returns, and that begins when it is awaited, is the body's", async () => {
  const all = await world();
  const { environment, scope, change, state } = all;
  // Queries of many database libraries begin like that.
  const begunWhenAwaited = <T>(begin: () => Promise<T>): Promise<T> =>
    ({
      then: (resolve: (value: T) => void, reject: (error: unknown) => void) => begin().then(resolve, reject),
    }) as never;
  const failing = transaction(scope, () => begunWhenAwaited(body(all, "undone", 1, true)));
  const failed = rejectionOf(failing);
  await environment.clock.advance(10);
  expect(await failed).toMatchObject({ message: "it failed" });
  expect(await state()).toEqual([[], []]);
  const evaluating = transaction(scope, () => begunWhenAwaited(() => evaluation(all, "note", 1)));
  await environment.clock.advance(10);
  expect((await evaluating).text).toBe("done");
  await change("later");
  expect(await state()).toEqual([
    ["note", "later"],
    ["later.txt", "note.txt"],
  ]);
});
