import { defineEvent, definePolicy, definePrompt, defineSlice, DefinitionError, allow } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { noted, notes, promptOf, rejectionOf, thrownBy } from "./support.ts";

const answer = () => modelAdapter(scriptedModel([{ text: "done" }]));
const namesake = defineSlice({ name: "notes", initial: 0 });

test("SES-4 the slices of sections, prompt and policies join when the evaluation begins", async () => {
  const counting = (name: string) =>
    defineSlice({ name, initial: 0, reducers: ({ on }) => on("prompt.rendered", (count) => count + 1) });
  const slices = ["section", "child", "section policy", "prompt", "prompt policy", "option policy"].map(counting);
  const [ofSection, ofChild, ofSectionPolicy, ofPrompt, ofPromptPolicy, ofOptionPolicy] = slices;
  const policy = (name: string, slice: (typeof slices)[number] | undefined) =>
    definePolicy({ name, slices: slice === undefined ? [] : [slice], check: () => allow() });
  const prompt = definePrompt({
    ns: "tests",
    key: "slices",
    sections: [
      {
        key: "one",
        text: "One.",
        slices: ofSection === undefined ? [] : [ofSection],
        policies: [policy("a", ofSectionPolicy)],
        children: [{ key: "two", text: "Two.", slices: ofChild === undefined ? [] : [ofChild] }],
      },
    ],
    slices: ofPrompt === undefined ? [] : [ofPrompt],
    policies: [policy("b", ofPromptPolicy)],
  });
  const session = createSession();
  await answer().evaluate(prompt.bind({}), { session, policies: [policy("c", ofOptionPolicy)] });
  expect(slices.map((slice) => session.get(slice))).toEqual([1, 1, 1, 1, 1, 1]);
});

test("SES-4 a slice that joined already keeps its state when another prompt brings it along", async () => {
  const session = createSession({ slices: [notes] });
  session.dispatch(noted({ text: "a" }));
  await answer().evaluate(promptOf({ slices: [notes] }), { session });
  await answer().evaluate(promptOf({ slices: [notes] }, "another"), { session });
  expect(session.get(notes)).toEqual(["a"]);
});

test("SES-4 two slices of one name, of two prompts in one session, are a render error whose cause is a DefinitionError", async () => {
  const session = createSession();
  await answer().evaluate(promptOf({ slices: [notes] }), { session });
  session.dispatch(noted({ text: "a" }));
  const events: string[] = [];
  session.on("*", ({ type }) => events.push(type));
  const extra = defineSlice({ name: "extra", initial: 0 });
  const error = await rejectionOf(answer().evaluate(promptOf({ slices: [extra, namesake] }), { session }));
  expect([error["code"], error["phase"]]).toEqual(["render", "render"]);
  expect(error.cause).toBeInstanceOf(DefinitionError);
  expect((error.cause as Error).message).toContain("notes");
  expect([session.get(notes), events]).toEqual([["a"], []]);
});

test("SES-4 two slices of one name that join at once are refused, and neither joins", async () => {
  expect(thrownBy(() => createSession({ slices: [notes, namesake] }))).toBeInstanceOf(DefinitionError);
  const session = createSession();
  const policy = definePolicy({ name: "p", slices: [namesake], check: () => allow() });
  const error = await rejectionOf(answer().evaluate(promptOf({ slices: [notes] }), { session, policies: [policy] }));
  expect(error.cause).toBeInstanceOf(DefinitionError);
  session.dispatch(noted({ text: "a" }));
  expect(session.get(notes)).toEqual([]);
});

test("SES-4 asking a session for a namesake of one of its slices is a DefinitionError", () => {
  const session = createSession({ slices: [notes] });
  expect(thrownBy(() => session.get(namesake))).toBeInstanceOf(DefinitionError);
});

test("SES-4 a fork has the state of both kinds of slices and shares nothing mutable, listeners and numbers included", async () => {
  const grow = defineEvent("grow", z.object({}));
  const tree = defineSlice({
    name: "tree",
    initial: { leaves: [{ size: 1 }] },
    reducers: ({ on }) =>
      on(grow, (draft) => {
        for (const leaf of draft.leaves) leaf.size += 1;
      }),
  });
  const log = defineSlice({
    name: "log",
    kind: "log",
    initial: [] as readonly string[],
    reducers: ({ on }) => on(grow, (draft) => draft.push("grown")),
  });
  const origin = createSession({ id: "origin", slices: [tree, log] });
  await answer().evaluate(promptOf(), { session: origin });
  const heard: string[] = [];
  origin.on("*", ({ type }) => heard.push(type));
  origin.dispatch(grow({}));
  const fork = origin.fork({ id: "fork" });
  expect([fork.id, fork.get(tree), fork.get(log)]).toEqual(["fork", { leaves: [{ size: 2 }] }, ["grown"]]);

  fork.dispatch(grow({}));
  origin.dispatch(grow({}));
  origin.dispatch(grow({}));
  expect([origin.get(tree).leaves[0]?.size, fork.get(tree).leaves[0]?.size]).toEqual([4, 3]);
  expect([origin.get(log).length, fork.get(log).length]).toEqual([3, 2]);
  expect(heard).toEqual(["grow", "grow", "grow"]);

  const numbers: number[] = [];
  fork.on("prompt.rendered", ({ seq, sessionId }) => void (sessionId === "fork" && numbers.push(seq)));
  await answer().evaluate(promptOf(), { session: fork });
  expect(numbers).toEqual([0]);
});

test("SES-4 forks without an id get different ones, and a fork can restore its origin's snapshot", () => {
  const origin = createSession({ slices: [notes] });
  const snapshot = origin.snapshot();
  const [one, two] = [origin.fork(), origin.fork()];
  expect(new Set([origin.id, one.id, two.id]).size).toBe(3);
  one.dispatch(noted({ text: "a" }));
  one.restore(snapshot);
  expect(one.get(notes)).toEqual([]);
});
