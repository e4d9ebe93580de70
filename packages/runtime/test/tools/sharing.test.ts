import { defineTool, Filesystem, provide } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter, openResources } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { noted, notes, promptOf, rejectionOf } from "./support.ts";

/** Writes, waits, then ends as it was told. */
const slowly = (clock: { sleep(ms: number, signal?: AbortSignal): Promise<void> }) =>
  defineTool({
    name: "slowly",
    description: "Writes and waits.",
    input: z.object({ text: z.string(), ms: z.number(), fail: z.boolean() }),
    async execute({ text, ms, fail }, { session, resources }) {
      session.dispatch(noted({ text }));
      await resources.find(Filesystem)?.write(`${text}.txt`, text);
      await clock.sleep(ms);
      if (fail) throw new Error("it failed");
    },
  });
const calling = (text: string, ms: number, fail: boolean) =>
  scriptedModel([{ toolCalls: [{ name: "slowly", arguments: { text, ms, fail } }] }, { text: "done" }]);

test.each([
  ["fails late", 50, 10],
  ["fails early", 10, 50],
])(
  "TX-1 TX-2 of two evaluations at once in one session, the one that %s undoes nothing of the other",
  async (_, failing, good) => {
    const environment = fakeEnvironment();
    const prompt = promptOf({ tools: [slowly(environment.clock)] });
    const session = createSession();
    const files = memoryFilesystem();
    await using resources = await openResources([provide(Filesystem, files)]);
    const evaluating = Promise.all([
      modelAdapter(calling("bad", failing, true), environment).evaluate(prompt, { session, resources }),
      modelAdapter(calling("good", good, false), environment).evaluate(prompt, { session, resources }),
      modelAdapter(calling("elsewhere", good, false), environment).evaluate(prompt, { resources }),
    ]);
    await environment.clock.advance(500);
    await evaluating;
    expect(session.get(notes)).toEqual(["good"]);
    expect(await files.glob("**")).toEqual(["elsewhere.txt", "good.txt"]);
  },
);

test("LIM-2 an evaluation that waits for another's call keeps its own limits, and lets the next one in", async () => {
  const environment = fakeEnvironment();
  const prompt = promptOf({ tools: [slowly(environment.clock)] });
  const session = createSession();
  const controller = new AbortController();
  const run = (text: string, signal?: AbortSignal) =>
    modelAdapter(calling(text, 100, false), environment).evaluate(prompt, { session, signal });
  const [first, second, third] = [run("first"), rejectionOf(run("second", controller.signal)), run("third")];
  await environment.clock.advance(50);
  controller.abort();
  await environment.clock.advance(1);
  expect(await second).toMatchObject({ code: "aborted", phase: "tool" });
  await environment.clock.advance(500);
  await Promise.all([first, third]);
  expect(session.get(notes)).toEqual(["first", "third"]);
});

test("TX-2 nested evaluations of one call, begun at once, undo nothing of each other", async () => {
  const environment = fakeEnvironment();
  const inner = promptOf({ tools: [slowly(environment.clock)] }, "inner");
  const nest = defineTool({
    name: "nest",
    description: "Nests twice.",
    input: z.object({}),
    async execute(_, context) {
      await Promise.all([
        context.evaluate(inner, { adapter: modelAdapter(calling("bad", 50, true), environment) }),
        context.evaluate(inner, { adapter: modelAdapter(calling("good", 10, false), environment) }),
      ]);
    },
  });
  const session = createSession();
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "nest" }] }, { text: "done" }]), environment);
  const evaluating = adapter.evaluate(promptOf({ tools: [nest] }), { session });
  await environment.clock.advance(500);
  await evaluating;
  expect(session.get(notes)).toEqual(["good"]);
});
