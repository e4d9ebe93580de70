import { provide, provideFactory, resourceKey } from "@proviso/core";
import { modelAdapter, openResources } from "@proviso/runtime";
import { atEvaluationEnd } from "@proviso/runtime/internal";
import { fallback } from "@proviso/runtime/routing";
import { failingModel, fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, promptOf as promptWithTools, toolOf } from "../transactions/support.ts";
import { a, b, c, evaluateCalls, logged, lookIn, promptOf, rejectionOf } from "./support.ts";

test("RES-1 what was made is closed in reverse order, once, needed after needing", async () => {
  const log: string[] = [];
  const opened = await openResources([logged(log, a, { needs: [b] }), logged(log, b), logged(log, c)]);
  opened.get(a);
  opened.get(c);
  await Promise.all([opened[Symbol.asyncDispose](), opened[Symbol.asyncDispose]()]);
  expect(log).toEqual(["made b", "made a", "made c", "closed c", "closed a", "closed b"]);
});

test("RES-1 what was never made is never closed", async () => {
  const log: string[] = [];
  const opened = await openResources([logged(log, a)]);
  await opened[Symbol.asyncDispose]();
  expect(log).toEqual([]);
});

test("RES-1 a close that fails keeps no other from being closed", async () => {
  const log: string[] = [];
  const broken = provideFactory(b, () => "b", { close: () => Promise.reject(new Error("stuck")) });
  const opened = await openResources([logged(log, a), broken, logged(log, c)]);
  for (const key of [a, b, c]) opened.get(key);
  const error = await rejectionOf(Promise.resolve(opened[Symbol.asyncDispose]()));
  expect((error as unknown as AggregateError).errors).toEqual([new Error("stuck")]);
  expect(log.slice(2)).toEqual(["closed c", "closed a"]);
});

test("RES-1 the default is Symbol.asyncDispose, else Symbol.dispose", async () => {
  const log: string[] = [];
  const both = resourceKey<object>("both");
  const one = resourceKey<object>("one");
  const none = resourceKey<object | null>("none");
  const opened = await openResources([
    provideFactory(both, () => ({
      [Symbol.asyncDispose]: async () => void log.push("async"),
      [Symbol.dispose]: () => void log.push("sync of both"),
    })),
    provideFactory(one, () => ({ [Symbol.dispose]: () => void log.push("sync") })),
    provideFactory(none, () => null),
  ]);
  for (const key of [both, one, none]) opened.get(key);
  await opened[Symbol.asyncDispose]();
  expect(log).toEqual(["sync", "async"]);
});

test("RES-1 a ready instance is never closed, whatever it could do", async () => {
  const log: string[] = [];
  const key = resourceKey<object>("ready");
  const ready = { [Symbol.asyncDispose]: async () => void log.push("closed"), close: () => log.push("closed") };
  await evaluateCalls(promptOf({ resources: [provide(key, ready)] }), [{ name: "none" }]);
  const opened = await openResources([provide(key, ready)]);
  await opened[Symbol.asyncDispose]();
  expect(log).toEqual([]);
});

test("RES-1 when an eager factory fails, what was made before it is closed, and its own error is thrown", async () => {
  const log: string[] = [];
  const failing = provideFactory(c, () => Promise.reject(new Error("no connection")), { eager: true });
  const stuck = provideFactory(b, () => "b", { eager: true, close: () => Promise.reject(new Error("stuck")) });
  const bindings = [logged(log, a, { eager: true }), stuck, failing];
  expect((await rejectionOf(openResources(bindings))).message).toBe("no connection");
  expect(log).toEqual(["made a", "closed a"]);
  const error = await rejectionOf(evaluateCalls(promptOf(), [{ name: "none" }], { resources: bindings }));
  expect([error["code"], error.message]).toEqual(["render", "no connection"]);
});

test("RES-1 an evaluation closes its own scope when it ends well, fails, and whatever closing does", async () => {
  const log: string[] = [];
  const bindings = [logged(log, a, { eager: true })];
  await evaluateCalls(promptOf(), [{ name: "none" }], { resources: bindings });
  expect(log.splice(0)).toEqual(["made a", "closed a"]);
  const failure = { failure: "provider", reason: "api_key", message: "no" } as const;
  await rejectionOf(
    modelAdapter(failingModel(failure), fakeEnvironment()).evaluate(promptOf(), { resources: bindings }),
  );
  expect(log.splice(0)).toEqual(["made a", "closed a"]);
  const stuck = provideFactory(b, () => "b", { eager: true, close: () => Promise.reject(new Error("stuck")) });
  const { text } = await evaluateCalls(promptOf(), [{ name: "none" }], { resources: [...bindings, stuck] });
  expect([text, log]).toEqual(["done", ["made a", "closed a"]]);
});

test("RES-1 resources opened outside are shared between evaluations and left open", async () => {
  const log: string[] = [];
  const opened = await openResources([logged(log, a)]);
  for (let i = 0; i < 3; i++)
    expect(await lookIn((resources) => resources.get(a), {}, { resources: opened })).toBe("a");
  expect(log).toEqual(["made a"]);
  expect(opened.get(a)).toBe("a");
  await opened[Symbol.asyncDispose]();
  expect(log).toEqual(["made a", "closed a"]);
});

test("RES-1 beside an opened scope the prompt's own resources are made and closed with each evaluation", async () => {
  const log: string[] = [];
  await using opened = await openResources([provide(b, "b")]);
  const resources = [logged(log, a, { needs: [b] })];
  for (let i = 0; i < 2; i++) await lookIn((given) => given.get(a), { resources }, { resources: opened });
  expect(log).toEqual(["made a", "closed a", "made a", "closed a"]);
});

test.each(["one model", "a chain of models"])(
  "RES-1 what an evaluation made eagerly is closed where the lane of its pacing throws: %s",
  async (what) => {
    const log: string[] = [];
    const environment = fakeEnvironment();
    const model = () => modelAdapter(scriptedModel([{ text: "done" }]), environment);
    const adapter = what === "one model" ? model() : fallback([model(), model()], environment);
    const pacing = {
      lane: (): never => {
        throw new Error("no lane");
      },
    };
    const resources = [
      provideFactory(a, () => (log.push("made"), "a"), { eager: true, close: () => void log.push("closed") }),
    ];
    const error = await rejectionOf(adapter.evaluate(promptOf(), { resources, pacing }));
    expect(String(error)).toContain("no lane");
    // A pace is asked for before anything is made, or what was made is closed.
    expect(log.filter((each) => each === "closed")).toHaveLength(log.filter((each) => each === "made").length);
  },
);

test("RES-1 SET-1 settings may hold a proxy, as stores of pages and drafts do, and what was made eagerly is closed", async () => {
  const log: string[] = [];
  const adapter = modelAdapter(scriptedModel([{ text: "done" }]), fakeEnvironment());
  const made = provideFactory(a, () => "a", { eager: true, close: () => void log.push("closed") });
  const settings = { providerOptions: { openai: new Proxy({}, {}) } };
  const { text } = await adapter.evaluate(promptOf(), { resources: [made], settings });
  expect([text, log]).toEqual(["done", ["closed"]]);
});

test("RES-1 LIM-2 what ends with an evaluation ends also beside one that throws at once, and closing is waited for", async () => {
  const log: string[] = [];
  const later = async (what: string): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    log.push(what);
  };
  const look = toolOf("look", (context) => {
    atEvaluationEnd(context, () => {
      throw new Error("It was closed.");
    });
    atEvaluationEnd(context, () => later("ended"));
    return context.resources.get(a);
  });
  const slow = provideFactory(a, () => "a", { close: () => later("closed") });
  const resources = [slow];
  await calling(fakeEnvironment(), "look").evaluate(promptWithTools({ tools: [look] }), { resources });
  expect(log.toSorted()).toEqual(["closed", "ended"]);
});
