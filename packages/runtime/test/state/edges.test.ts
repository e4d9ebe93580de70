import { defineEvent, DefinitionError, defineSlice } from "@proviso/core";
import { createSession, modelAdapter, restoreSession } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptWith } from "../support.ts";

const again = defineEvent("again", z.object({}));

test.each([1, 2, 5])(
  "EVT-6 %i listeners that dispatch the event they receive end, with an error that has the reason",
  (listeners) => {
    const session = createSession();
    let heard = 0;
    for (let one = 0; one < listeners; one++) {
      session.on(again, () => {
        heard += 1;
        session.dispatch(again({}));
      });
    }
    const { ok, errors } = session.dispatch(again({}));
    expect(ok).toBe(false);
    expect(errors).toEqual([expect.any(DefinitionError)]);
    expect(String(errors[0])).toContain('"again" is dispatched inside more than 100 other events');
    expect(heard).toBeGreaterThanOrEqual(100);
    expect(heard).toBeLessThanOrEqual(100 * listeners * listeners);
  },
);

test("EVT-6 99 events inside each other are all delivered, and a circle does not spoil the next event", () => {
  const session = createSession();
  let left = 99;
  session.on(again, () => {
    if (left-- > 0) session.dispatch(again({}));
  });
  expect(session.dispatch(again({}))).toEqual({ ok: true, errors: [] });
  left = 1_000;
  expect(session.dispatch(again({})).ok).toBe(false);
  left = 0;
  expect(session.dispatch(again({})).ok).toBe(true);
});

test("EVT-6 EVT-3 a circle that begins at prompt.executed is the listener's error", async () => {
  const session = createSession();
  session.on("prompt.executed", () => void session.dispatch(again({})));
  session.on(again, () => void session.dispatch(again({})));
  const evaluating = modelAdapter(scriptedModel([{ text: "done" }])).evaluate(promptWith(), { session });
  await expect(evaluating).rejects.toMatchObject({ code: "listener", response: { output: "done" } });
});

test.each(["", 7, null, {}])("SES-6 %o is no id of a session, nor of a fork", (id) => {
  for (const make of [() => createSession({ id: id as string }), () => createSession().fork({ id: id as string })]) {
    if (id === null) continue;
    expect(make).toThrow(DefinitionError);
  }
});

test("SES-6 a numbering that is nearly used up is refused with its path", () => {
  const saved = JSON.parse(JSON.stringify(createSession())) as object;
  for (const seq of [2 ** 52 + 1, Number.MAX_SAFE_INTEGER]) {
    expect(() => restoreSession({ ...saved, seq }, { slices: [] })).toThrow(/seq must be at most/u);
  }
  expect(restoreSession({ ...saved, seq: 2 ** 52 }, { slices: [] }).toJSON()).toMatchObject({ seq: 2 ** 52 });
});

test("SES-5 a word that no JSON may have as its key is refused where it comes in, and what was there can be saved", () => {
  const said = defineEvent("said", z.object({ word: z.string() }));
  const words = defineSlice({
    name: "words",
    initial: {} as Record<string, number>,
    reducers: ({ on }) => on(said, (draft, { word }) => ({ ...draft, [word]: 1 })),
  });
  const session = createSession({ slices: [words] });
  session.dispatch(said({ word: "hello" }));
  for (const word of ["constructor", "prototype", "__proto__"]) {
    const { errors } = session.dispatch(said({ word }));
    expect(String(errors[0])).toContain(`${word} is a key that is not allowed`);
  }
  expect(restoreSession(JSON.parse(JSON.stringify(session)), { slices: [words] }).get(words)).toEqual({ hello: 1 });
});
