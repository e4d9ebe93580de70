// Half of a surrogate pair is no character: a delta ends with a whole one, and one without its other half is U+FFFD.
import type { ModelRequest, StreamEvent } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { all, answer, hello, streamingModel, structured, textsOf } from "./support.ts";

const smile = "\u{1f600}";
const [first, second] = ["\ud83d", "\ude00"];

test.each<readonly [what: string, pieces: readonly string[], text: string, shown: readonly string[]]>([
  ["between two deltas", [`Hi ${first}`, `${second}!`], `Hi ${smile}!`, ["Hi ", `${smile}!`]],
  ["in deltas of their own", ["Hi ", first, second], `Hi ${smile}`, ["Hi ", smile]],
  ["that came in part", ["Hi ", first], `Hi ${smile}`, ["Hi ", smile]],
  ["cut at the end", [`Hi ${first}`], `Hi ${first}`, ["Hi ", "\ufffd"]],
  ["cut before the text goes on", [`Hi ${first}`, "!"], `Hi ${first}!`, ["Hi ", "\ufffd!"]],
  ["without its beginning", ["Hi ", `${second}!`], `Hi ${second}!`, ["Hi ", "\ufffd!"]],
  ["of an answer whose text came otherwise", [first], smile, [smile]],
])("STR-1 the deltas are whole characters, and add up to the text: one %s", async (_, pieces, text, shown) => {
  for (const secrets of [undefined, ["Gesundheit"]]) {
    const session = createSession();
    const events = recordEvents(session);
    const model = streamingModel([{ pieces, answer: answer(text) }]);
    const adapter = modelAdapter(model, { ...fakeEnvironment(), ...(secrets === undefined ? {} : { secrets }) });
    const texts = textsOf(await all(adapter.stream(hello, { session })));
    expect(texts).toEqual(secrets === undefined ? shown : expect.any(Array));
    expect(texts.every((part) => part.isWellFormed())).toBe(true);
    const responded = events.find(({ type }) => type === "provider.responded");
    expect(responded).toMatchObject({ text: texts.join("") });
    expect(events.at(-1)).toMatchObject({ type: "prompt.executed", text: texts.join("") });
    expect(texts.join("")).toBe(text.toWellFormed());
  }
});

test("STR-1 half a character of a text that was taken back is no part of the next", async () => {
  const model = {
    ...streamingModel([]),
    generate: async ({ onDelta }: ModelRequest) => {
      for (const text of ["Hi", first]) onDelta?.({ kind: "text", text });
      onDelta?.({ kind: "reset" });
      for (const text of [second, "Hello"]) onDelta?.({ kind: "text", text });
      return answer(`${second}Hello`);
    },
  };
  const texts = textsOf(await all(modelAdapter(model, fakeEnvironment()).stream(hello)));
  expect(texts).toEqual(["Hi", "(reset)", "\ufffd", "Hello"]);
});

test("STR-1 RSN-1 so it is with thoughts and the output, too", async () => {
  const thinking = {
    ...streamingModel([]),
    generate: async ({ onDelta }: ModelRequest) => {
      for (const text of [`Hm ${first}`, `${second} yes`]) onDelta?.({ kind: "reasoning", text });
      for (const text of [`{"a":"${first}`, `${second}"}`]) onDelta?.({ kind: "text", text });
      const { message, ...rest } = answer(`{"a":"${smile}"}`);
      return { ...rest, message: { ...message, reasoning: `Hm ${smile} yes` } };
    },
  };
  const prompt = structured(z.object({ a: z.string() }));
  const events: readonly StreamEvent<unknown>[] = await all(modelAdapter(thinking, fakeEnvironment()).stream(prompt));
  const thoughts = events.flatMap((event) => (event.type === "reasoning.delta" ? [event.text] : []));
  expect(thoughts).toEqual(["Hm ", `${smile} yes`]);
  const partials = events.flatMap((event) => (event.type === "output.delta" ? [event.partial] : []));
  expect(JSON.stringify(partials)).not.toMatch(/\\ud83d|\ufffd/);
  expect(partials.at(-1)).toEqual({ a: smile });
});

test("STR-1 STR-4 half a character is U+FFFD in what is read of the output, as in the output", async () => {
  const text = `{"a":"x${first}","b":"y"}`;
  const model = streamingModel([
    { pieces: [...text.matchAll(/.{1,3}/gsu)].map(([piece]) => piece), answer: answer(text) },
  ]);
  const prompt = structured(z.object({ a: z.string(), b: z.string() }));
  const events: readonly StreamEvent<unknown>[] = await all(modelAdapter(model, fakeEnvironment()).stream(prompt));
  const partials = events.flatMap((event) => (event.type === "output.delta" ? [event.partial] : []));
  expect(JSON.stringify(partials)).not.toContain("\\ud83d");
  expect(partials.at(-1)).toEqual({ a: "x\ufffd", b: "y" });
});
