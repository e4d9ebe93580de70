import { definePolicy, deny, type SessionEvent } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { evaluateCalls, fc, notes, promptOf, rejectionOf, toolMessages, world, write, writing } from "./support.ts";

const failures = [
  ["toolError", "it failed"],
  ["throw", "it threw"],
  ["throw text", "a text"],
  ["reject", "it rejected"],
  ["not JSON", "The tool returned a value that is not JSON: it is a function. Return plain JSON."],
] as const;

test.each(failures)("TX-1 a call that ends by %s leaves everything as it was", async (end, message) => {
  const { session, resources, digest } = world();
  const before = await digest();
  const { toolResults, messages } = await evaluateCalls(
    promptOf({ tools: [write] }),
    [writing("a", end), { name: "write", arguments: { wrong: 1 } }],
    { session, resources },
  );
  expect(await digest()).toEqual(before);
  expect(toolResults.map(({ result }) => result.success)).toEqual([false, false]);
  expect(toolMessages(messages)[0]).toMatchObject({ text: message, isError: true });
});

test("TX-1 a call that a policy denies leaves nothing, of the policy's own writes either", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  const careless = definePolicy({
    name: "careless",
    async check(_, context) {
      await write.execute({ text: "by the policy", end: "succeed" }, context);
      return deny("not now");
    },
  });
  const { toolResults } = await evaluateCalls(promptOf({ tools: [write] }), [writing("a")], {
    session,
    resources,
    policies: [careless],
  });
  expect(await digest()).toEqual(before);
  expect(toolResults[0]?.result).toEqual({ success: false, message: "not now" });
});

test("TX-1 a call that outlasts its time is undone, its event has the input, and the evaluation goes on", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  const environment = fakeEnvironment();
  const evaluating = evaluateCalls(
    promptOf({ tools: [write] }),
    [writing("a", "hang")],
    { session, resources },
    environment,
  );
  await environment.clock.advance(1_000);
  const { text, toolResults } = await evaluating;
  expect(text).toBe("done");
  expect(toolResults[0]).toMatchObject({
    params: { text: "a", end: "hang" },
    result: { success: false, message: expect.stringContaining("1000 ms") },
    durationMs: 1_000,
  });
  expect(await digest()).toEqual(before);
});

test("TX-1 an abort undoes the call that runs and keeps the calls before it", async () => {
  const { session, resources, digest } = world();
  const twin = world();
  await evaluateCalls(promptOf({ tools: [write] }), [writing("a")], {
    session: twin.session,
    resources: twin.resources,
  });
  const controller = new AbortController();
  session.on(write, () => setImmediate(() => setImmediate(() => controller.abort())));
  const model = scriptedModel([{ toolCalls: [writing("a"), writing("b", "hang"), writing("c")] }]);
  const error = await rejectionOf(
    modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [write] }), {
      session,
      resources,
      signal: controller.signal,
    }),
  );
  expect(error["code"]).toBe("aborted");
  expect(await digest()).toEqual(await twin.digest());
});

test("TX-1 one failing call between two good ones leaves no trace, nor do listeners receive its events", async () => {
  const { session, resources, digest } = world();
  const twin = world();
  await evaluateCalls(promptOf({ tools: [write] }), [writing("a"), writing("c")], {
    session: twin.session,
    resources: twin.resources,
  });
  const heard: SessionEvent[] = [];
  session.on("*", (event) => void (event.type === "noted" && heard.push(event)));
  await evaluateCalls(promptOf({ tools: [write] }), [writing("a"), writing("b", "throw"), writing("c")], {
    session,
    resources,
  });
  expect(await digest()).toEqual(await twin.digest());
  expect(heard.map((event) => "text" in event && event.text)).toEqual(["a", "c"]);
});

test("TX-1 TX-2 after any sequence of calls, all state is that of a model which skips the failed ones", async () => {
  const call = fc.record({
    text: fc.constantFrom("a", "b", "c", "d", "e"),
    end: fc.oneof(
      { weight: 2, arbitrary: fc.constant("succeed" as const) },
      fc.constantFrom("toolError", "throw", "throw text", "reject", "not JSON"),
    ),
  });
  const turns = fc.array(fc.array(call, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(turns, async (given) => {
      const { session, resources, filesystem, ledger } = world();
      const model = scriptedModel([
        ...given.map((calls) => ({ toolCalls: calls.map(({ text, end }) => writing(text, end)) })),
        { text: "done" },
      ]);
      const adapter = modelAdapter(model, fakeEnvironment());
      const { toolResults } = await adapter.evaluate(promptOf({ tools: [write] }), { session, resources });
      const kept = given.flat().flatMap(({ text, end }) => (end === "succeed" ? [text] : []));
      expect(session.get(notes)).toEqual(["before", ...kept]);
      expect(ledger.entries).toEqual(["before", ...kept]);
      const files = [...new Set([...kept, "kept"])].map((text) => `folder/${text}.txt`);
      expect(await filesystem.glob("**")).toEqual([...files, ...(kept.length === 0 ? ["old.txt"] : [])].toSorted());
      expect(toolResults.map(({ result }) => result.success)).toEqual(given.flat().map(({ end }) => end === "succeed"));
    }),
  );
});
