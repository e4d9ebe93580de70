import { DefinitionError, provide, provideFactory, resourceKey, type ResourceScope } from "@proviso/core";
import { openResources } from "@proviso/runtime";
import { expect, test } from "vitest";
import { a, b, c, evaluateCalls, logged, lookIn, promptOf, rejectionOf, thrownBy } from "./support.ts";

test("RES-1 a factory is lazy, one that is eager is made when the scope opens", async () => {
  const log: string[] = [];
  await using opened = await openResources([logged(log, a), logged(log, b, { eager: true })]);
  expect(log).toEqual(["made b"]);
  opened.get(a);
  opened.get(a);
  expect(log).toEqual(["made b", "made a"]);
});

test("RES-1 a singleton is one in its scope, a prototype one each time", async () => {
  let made = 0;
  const count = resourceKey<number>("count");
  const ids = async (scope: ResourceScope) => {
    await using opened = await openResources([provideFactory(count, () => ++made, { scope })]);
    return [opened.get(count), opened.get(count), await opened.open(count)];
  };
  expect(await ids("singleton")).toEqual([1, 1, 1]);
  expect(await ids("prototype")).toEqual([2, 3, 4]);
});

test("RES-1 a resource of a call does not exist outside one", async () => {
  await using opened = await openResources([logged([], a, { scope: "toolCall" })]);
  expect(thrownBy(() => opened.get(a)).message).toMatch(/"a" has scope toolCall/);
});

test("RES-1 get refuses what is made asynchronously until it was opened; open waits for one making", async () => {
  let made = 0;
  await using opened = await openResources([provideFactory(a, async () => `made ${++made}`)]);
  const error = thrownBy(() => opened.get(a));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toMatch(/"a" is made asynchronously: await resources.open/);
  expect(await Promise.all([opened.open(a), opened.open(a)])).toEqual(["made 1", "made 1"]);
  expect([opened.get(a), opened.find(a)]).toEqual(["made 1", "made 1"]);
});

test("RES-1 an asynchronous factory that is eager is there for get", async () => {
  await using opened = await openResources([provideFactory(a, async () => "made", { eager: true })]);
  expect(opened.get(a)).toBe("made");
});

test("RES-1 a factory that failed is tried again", async () => {
  let tries = 0;
  const make = () => {
    if (++tries === 1) throw new Error("not yet");
    return "made";
  };
  await using opened = await openResources([provideFactory(a, make), provideFactory(b, async () => make())]);
  expect(thrownBy(() => opened.get(a)).message).toBe("not yet");
  expect(opened.get(a)).toBe("made");
  tries = 0;
  expect((await rejectionOf(opened.open(b))).message).toBe("not yet");
  expect(await opened.open(b)).toBe("made");
});

test("RES-1 an unbound key is an error with the path, find gives undefined", async () => {
  await using opened = await openResources([logged([], a, { needs: [b] }), logged([], b, { needs: [c] })]);
  expect(opened.find(c)).toBeUndefined();
  const error = thrownBy(() => opened.get(a));
  expect(error).toBeInstanceOf(DefinitionError);
  expect(error.message).toContain('"a" → "b" → "c"');
});

test("RES-1 resources that need each other are an error with the path, asynchronous ones too", async () => {
  await using opened = await openResources([logged([], a, { needs: [b] }), logged([], b, { needs: [a] })]);
  expect(thrownBy(() => opened.get(a)).message).toMatch(/circle: "a" → "b" → "a"/);
  await using later = await openResources([
    provideFactory(a, (resources) => resources.open(b)),
    provideFactory(b, (resources) => resources.open(a)),
  ]);
  expect((await rejectionOf(later.open(b))).message).toMatch(/circle: "b" → "a" → "b"/);
});

test("RES-1 a singleton cannot hold a resource of a call, directly or through a prototype", async () => {
  const captive = [
    logged([], a, { needs: [b] }),
    logged([], b, { scope: "prototype", needs: [c] }),
    logged([], c, { scope: "toolCall" }),
  ];
  const message = await lookIn((resources) => resources.get(a), {}, { resources: captive });
  expect(message).toMatch(/singleton would hold "c".*"a" → "b" → "c"/);
  const inOrder = await lookIn((resources) => [resources.get(c), resources.get(a)], {}, { resources: captive });
  expect(inOrder).toMatch(/singleton would hold "c"/);
});

test("RES-1 a singleton of the evaluation cannot hold an opened scope's resource of a call either", async () => {
  await using opened = await openResources([logged([], c, { scope: "toolCall" })]);
  const resources = [logged([], a, { needs: [c] })];
  expect(await lookIn((given) => given.get(c), { resources }, { resources: opened })).toBe("c");
  expect(await lookIn((given) => given.get(a), { resources }, { resources: opened })).toMatch(/"c" has scope toolCall/);
});

test("RES-1 what the prompt binds may need what was opened outside, asynchronously made too", async () => {
  await using opened = await openResources([provideFactory(b, async () => "later"), provide(c, "ready")]);
  const resources = [provideFactory(a, async (given) => `${await given.open(b)} ${given.get(c)}`)];
  expect(await lookIn((given) => given.open(a), { resources }, { resources: opened })).toBe("later ready");
});

test("RES-2 after its scope was closed a resource cannot be had, and closed resources begin no evaluation", async () => {
  const opened = await openResources([provide(a, "x")]);
  await opened[Symbol.asyncDispose]();
  expect(thrownBy(() => opened.get(a)).message).toMatch(/after its scope was closed/);
  const error = await rejectionOf(evaluateCalls(promptOf(), [{ name: "none" }], { resources: opened }));
  expect([error["code"], (error.cause as Error).message]).toEqual(["option", expect.stringContaining("closed")]);
});

test("RES-2 resources that openResources did not open are refused", async () => {
  const forged = { get: () => "x", find: () => "x", open: async () => "x" } as never;
  const error = await rejectionOf(evaluateCalls(promptOf(), [{ name: "none" }], { resources: forged }));
  expect(error.cause).toBeInstanceOf(DefinitionError);
});
