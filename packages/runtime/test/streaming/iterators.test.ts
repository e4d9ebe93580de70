import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { promptWith } from "../support.ts";

const failing = {
  ...scriptedModel([]),
  generate: () => Promise.resolve({ failure: "provider", reason: "unknown", message: "no" } as const),
};
const begin = (model = scriptedModel([{ text: "done" }])) => {
  const stream = modelAdapter(model).stream(promptWith());
  return { stream, iterator: stream[Symbol.asyncIterator]() as AsyncGenerator<unknown, unknown> };
};
const done = { done: true, value: undefined };

test("STR-5 after return the iterator is done, and gives back what return was given", async () => {
  const { stream, iterator } = begin();
  expect(await iterator.next()).toMatchObject({ done: false });
  expect(await iterator.return(Promise.resolve("left"))).toEqual({ done: true, value: "left" });
  expect([await iterator.next(), await iterator.next(), await iterator.return(7)]).toEqual([
    done,
    done,
    { done: true, value: 7 },
  ]);
  await expect(stream.response).rejects.toMatchObject({ code: "aborted" });
});

test("STR-5 return ends a next that waits", async () => {
  const { iterator } = begin({ ...failing, generate: () => new Promise(() => {}) });
  for (let event = await iterator.next(); (event.value as { type: string }).type !== "provider.requested";) {
    event = await iterator.next();
  }
  const waiting = iterator.next();
  expect(await iterator.return(undefined)).toEqual(done);
  expect(await waiting).toEqual(done);
});

test("STR-5 throw rejects with what it was given; the evaluation is aborted and the iterator done", async () => {
  const { stream, iterator } = begin();
  const own = new Error("mine");
  await expect(iterator.throw(own)).rejects.toBe(own);
  expect(await iterator.next()).toEqual(done);
  await expect(stream.response).rejects.toMatchObject({ code: "aborted" });
});

test("STR-5 a failure is thrown once, to one reader; then it is done", async () => {
  const { iterator } = begin(failing as never);
  const outcomes: string[] = [];
  const reading = Array.from({ length: 8 }, () =>
    iterator.next().then(
      ({ done: isDone, value }) => (isDone === true ? "done" : (value as { type: string }).type),
      (error: { code: string }) => `throws ${error.code}`,
    ),
  );
  outcomes.push(...(await Promise.all(reading)));
  expect(outcomes).toEqual([
    "prompt.rendered",
    "provider.requested",
    "prompt.failed",
    "throws provider",
    "done",
    "done",
    "done",
    "done",
  ]);
});

test("STR-5 the iterator is iterable itself", async () => {
  const { iterator } = begin();
  const types: string[] = [];
  for await (const event of iterator) types.push((event as { type: string }).type);
  expect(types.at(-1)).toBe("prompt.executed");
  expect(iterator[Symbol.asyncIterator]()).toBe(iterator);
  expect(await iterator.next()).toEqual(done);
});
