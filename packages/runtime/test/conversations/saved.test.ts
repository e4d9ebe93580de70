import { defineEvent, definePrompt, DefinitionError, defineSlice, type Message } from "@proviso/core";
import {
  ConversationError,
  createSession,
  memoryConversations,
  restoreConversation,
  saveConversation,
  withConversation,
} from "@proviso/runtime";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { anyCharacter } from "../../../core/test/support/any-character.ts";

const noted = defineEvent("noted", z.object({ note: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as string[],
  reducers: ({ on }) => on(noted, (draft, { note }) => void draft.push(note)),
});
const messages: readonly Message[] = [
  { role: "system", text: "Rules of yesterday." },
  { role: "user", text: "Hi." },
  { role: "assistant", text: "", toolCalls: [{ id: "1", name: "a", arguments: "{}" }], providerItems: [{ a: 1 }] },
  { role: "tool", callId: "1", name: "a", text: "ok", isError: false },
];
const through = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

test("CNV-1 session and messages are one plain JSON value, and come back", () => {
  const session = createSession({ id: "s", slices: [notes] });
  const saved = saveConversation({ session, messages });
  expect(through(saved)).toEqual({
    format: "proviso.conversation",
    version: 1,
    session: {
      format: "proviso.session",
      version: 1,
      id: "s",
      seq: 0,
      slices: [{ name: "notes", kind: "state", state: [] }],
    },
    messages: messages.slice(1),
  });
  const back = restoreConversation(through(saved), { slices: [notes] });
  expect(back.messages).toEqual(messages.slice(1));
  expect(Object.isFrozen(back.messages)).toBe(true);
  expect(through(saveConversation(back))).toEqual(through(saved));
});

test("CNV-1 whatever is saved is restored", async () => {
  const text = fc.string({ unit: anyCharacter, maxLength: 20 });
  const call = fc.record({ name: text, arguments: text });
  const turn = fc.record({ said: text, answer: text, calls: fc.array(call, { maxLength: 3 }), items: fc.jsonValue() });
  await fc.assert(
    fc.asyncProperty(fc.array(turn, { maxLength: 4 }), async (turns) => {
      const store = memoryConversations();
      let count = 0;
      const all = turns.flatMap(({ said, answer, calls, items }): Message[] => {
        const toolCalls = calls.map((each) => ({ ...each, id: `c${count++}` }));
        return [
          { role: "user", text: said },
          { role: "assistant", text: answer, toolCalls, ...(items === null ? {} : { providerItems: items }) },
          ...toolCalls.map(({ id, name }): Message => ({
            role: "tool",
            callId: id,
            name,
            text: answer,
            isError: true,
          })),
        ];
      });
      await withConversation(store, "ada", (conversation) => conversation.keep(all));
      const kept = await withConversation(store, "ada", (conversation) => conversation.messages);
      const wellFormed = JSON.parse(JSON.stringify(all), (_, value: unknown) =>
        typeof value === "string" ? value.toWellFormed() : value,
      ) as unknown;
      expect(through(kept)).toEqual(wellFormed);
    }),
    { seed: 1, numRuns: 60 },
  );
});

test("CNV-1 what could not be restored is refused when it is saved", async () => {
  const session = createSession({ slices: [notes] });
  const open = messages.slice(0, 3);
  expect(() => saveConversation({ session, messages: open })).toThrow(DefinitionError);
  expect(() => saveConversation({ session: {} as never, messages })).toThrow(DefinitionError);
  expect(() => saveConversation({ session, messages: undefined as never })).toThrow("must be an array");
  const items = JSON.parse('{"constructor":1}') as unknown;
  const odd: Message = { role: "assistant", text: "", toolCalls: [], providerItems: items };
  const store = memoryConversations();
  await expect(withConversation(store, "ada", (conversation) => conversation.keep([odd]))).rejects.toThrow(
    'the key "constructor" is not allowed',
  );
  expect(await store.list()).toEqual([]);
  // A word in a text is no key.
  const word: Message = { role: "user", text: 'What is "constructor": in JavaScript?' };
  await withConversation(store, "ada", (conversation) => conversation.keep([word]));
  expect(await store.list()).toHaveLength(1);
});

test("CNV-1 what is damaged, foreign or newer is a ConversationError with the path, and nothing exists then", () => {
  const saved = through(saveConversation({ session: createSession({ slices: [notes] }), messages })) as {
    session: { slices: object[] };
    messages: object[];
  };
  const wrong: readonly (readonly [json: unknown, reason: string, says: string])[] = [
    [JSON.stringify(saved), "unreadable", "is a text"],
    [null, "unreadable", "format"],
    [[], "unreadable", "format"],
    [{ ...saved, format: "proviso.session" }, "unreadable", "format"],
    [{ ...saved, version: 0 }, "unreadable", "version must be 1"],
    [{ ...saved, version: "1" }, "unreadable", "version must be 1"],
    [{ ...saved, version: 2 }, "newer", "newer release"],
    [{ ...saved, session: { ...saved.session, version: 2 } }, "newer", "newer release"],
    [{ ...saved, more: 1 }, "unreadable", "not known"],
    [{ ...saved, session: undefined }, "unreadable", "not a session's JSON"],
    [
      { ...saved, session: { ...saved.session, slices: [{ name: "else", kind: "state" }] } },
      "unreadable",
      "slices[0].name",
    ],
    [{ ...saved, messages: saved.messages.slice(0, 2) }, "unreadable", "messages[1]"],
    [{ ...saved, messages: [{ role: "user" }] }, "unreadable", "messages[0].text"],
    [{ ...saved, messages: undefined }, "unreadable", "messages"],
  ];
  for (const [json, reason, says] of wrong) {
    const restoring = (): unknown => restoreConversation(json, { slices: [notes] });
    expect(restoring).toThrow(ConversationError);
    expect(restoring).toThrow(expect.objectContaining({ reason, conversationId: undefined }));
    expect(restoring).toThrow(says);
  }
  for (const options of [undefined, {}, { slices: "notes" }])
    expect(() => restoreConversation(saved, options as never)).toThrow(DefinitionError);
  expect(() => restoreConversation(saved, { slices: [notes], slice: 1 } as never)).toThrow("no option slice");
});

test("CNV-1 a prompt that has gained a slice goes on with the old conversation", () => {
  const saved = through(saveConversation({ session: createSession({ id: "s" }), messages: [] }));
  const { session } = restoreConversation(saved, {
    slices: definePrompt({ key: "p", text: "Hi.", slices: [notes] }).slices,
  });
  expect(session.get(notes)).toEqual([]);
});
