import {
  Blobs,
  defineEvent,
  definePrompt,
  DefinitionError,
  defineSlice,
  defineTool,
  linkedFile,
  provide,
  RevokedError,
  systemClock,
  uploadedFile,
  type Message,
  type ProviderAdapter,
} from "@proviso/core";
import {
  ConversationError,
  memoryBlobs,
  memoryConversations,
  modelAdapter,
  openResources,
  readConversation,
  transaction,
  withConversation,
  type Conversation,
  type ConversationStore,
} from "@proviso/runtime";
import { fakeClock, fakeEnvironment, scriptedModel, testImage } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const added = defineEvent("task.added", z.object({ title: z.string() }));
const tasks = defineSlice({
  name: "tasks",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(added, (draft, { title }) => void draft.push(title)),
});
const addTask = defineTool({
  name: "add_task",
  description: "Adds a task.",
  input: z.object({ title: z.string() }),
  execute: ({ title }, { session }) => void session.dispatch(added({ title })),
});
const chat = definePrompt({
  key: "chat",
  params: z.object({ said: z.string() }),
  sections: [
    { key: "rules", text: "Keep tasks.", tools: [addTask], slices: [tasks] },
    { key: "said", role: "user", text: "{{said}}" },
  ],
});
const { slices } = chat;
const said = (text: string) => chat.bind({ said: text });
const textsOf = (messages: readonly Message[]) => messages.map(({ role, text }) => `${role}: ${text}`);

const adds = (title: string) => ({ toolCalls: [{ name: "add_task", arguments: { title } }] });
const adapterOf = (...steps: Parameters<typeof scriptedModel>[0]): ProviderAdapter =>
  modelAdapter(scriptedModel(steps));

/** What is stored, as a reader sees it. */
async function stored(store: ConversationStore, id = "ada") {
  const found = await store.load(id);
  if (found === undefined) return undefined;
  const { messages, session } = JSON.parse(found.body) as {
    messages: Message[];
    session: { id: string; slices: { name: string; state: unknown }[] };
  };
  const state = session.slices.find(({ name }) => name === "tasks")?.state;
  return { revision: found.revision, texts: textsOf(messages), tasks: state, sessionId: session.id };
}

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => expect.unreachable("it did not fail"),
    (error: unknown) => error,
  );

describe("CNV-2 a conversation is saved as a whole when its function returns", () => {
  test("CNV-2 the next use goes on with session and messages", async () => {
    const store = memoryConversations();
    const model = scriptedModel([adds("milk"), { text: "Noted." }, { text: "Milk." }]);
    const adapter = modelAdapter(model);
    const turn = (text: string) =>
      withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, said(text)), { slices });
    expect((await turn("Buy milk.")).output).toBe("Noted.");
    expect(await stored(store)).toEqual({
      revision: 1,
      texts: ["user: Buy milk.", "assistant: ", "tool: Done.", "assistant: Noted."],
      tasks: ["milk"],
      sessionId: "ada",
    });
    expect((await turn("What?")).output).toBe("Milk.");
    expect(textsOf(model.requests[2]?.messages ?? [])).toEqual([
      "system: Keep tasks.",
      "user: Buy milk.",
      "assistant: ",
      "tool: Done.",
      "assistant: Noted.",
      "user: What?",
    ]);
    expect(await stored(store)).toMatchObject({ revision: 2, tasks: ["milk"] });
    await withConversation(
      store,
      "ada",
      ({ session, revision }) => {
        expect([session.id, session.get(tasks), revision]).toEqual(["ada", ["milk"], 2]);
      },
      { slices },
    );
  });

  test("CNV-2 a use that changes nothing saves nothing", async () => {
    const store = memoryConversations();
    await withConversation(store, "ada", () => {}, { slices });
    expect(await store.list()).toEqual([]);
    await withConversation(store, "ada", (conversation) => conversation.evaluate(adapterOf({ text: "Hi." }), "Hello."));
    const result = await withConversation(store, "ada", ({ messages }) => messages.length);
    expect(result).toBe(2);
    expect((await store.load("ada"))?.revision).toBe(1);
  });

  test("CNV-2 a failed evaluation that is let through leaves what is stored as it was, session and messages", async () => {
    const store = memoryConversations();
    const adapter = adapterOf(adds("milk"), { text: "Noted." }, adds("bread"), {
      failure: "provider",
      reason: "bad_request",
      message: "no",
    });
    const turn = (text: string) =>
      withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, said(text)), { slices });
    await turn("Buy milk.");
    const before = await store.load("ada");
    expect(await failureOf(turn("Buy bread."))).toMatchObject({ code: "provider", messages: { length: 7 } });
    expect(await store.load("ada")).toEqual(before);
    expect(await store.acquire("ada", { token: "free", leaseMs: 1 })).toMatchObject({ ok: true });
  });

  test("CNV-2 what `save` saved stays when the function throws afterwards", async () => {
    const store = memoryConversations();
    const adapter = adapterOf({ text: "One." }, { text: "Two." });
    const failed = withConversation(store, "ada", async (conversation) => {
      await conversation.evaluate(adapter, "1");
      await conversation.save();
      expect(conversation.revision).toBe(1);
      await conversation.evaluate(adapter, "2");
      throw new Error("mine");
    });
    await expect(failed).rejects.toThrow("mine");
    expect(await stored(store)).toMatchObject({ revision: 1, texts: ["user: 1", "assistant: One."] });
  });

  test("CNV-2 saves that are not waited for are made one after another, each as it was when it was asked for", async () => {
    const kept = memoryConversations();
    const saved: (readonly [revision: number, body: string])[] = [];
    const store: ConversationStore = {
      ...kept,
      save(id, save) {
        saved.push([save.revision, save.body]);
        return kept.save(id, save);
      },
    };
    await withConversation(store, "ada", async (conversation) => {
      await conversation.evaluate(adapterOf({ text: "One." }), "1");
      const first = conversation.save();
      conversation.keep([]);
      await Promise.all([first, conversation.save()]);
      expect(conversation.revision).toBe(2);
    });
    expect(saved.map(([revision, body]) => [revision, body.includes("One.")])).toEqual([
      [1, true],
      [2, false],
    ]);
  });

  test("CNV-2 what still runs when the function throws is aborted, and has ended when others may write", async () => {
    const store = memoryConversations();
    const { clock, ...rest } = fakeEnvironment();
    let isRunning = false;
    const adapter = modelAdapter(
      {
        name: "slow",
        model: "slow",
        capabilities: { tools: false, nativeOutput: false },
        async generate({ signal }) {
          isRunning = true;
          try {
            await clock.sleep(1_000_000, signal);
          } finally {
            isRunning = false;
          }
          throw new Error("not reached");
        },
      },
      { clock, ...rest },
    );
    const failed = withConversation(store, "ada", async (conversation) => {
      conversation.stream(adapter, "1");
      await new Promise((resolve) => setTimeout(resolve, 5));
      expect(isRunning).toBe(true);
      throw new Error("mine");
    });
    await expect(failed).rejects.toThrow("mine");
    expect([isRunning, clock.pending]).toEqual([false, 0]);
    expect(await store.list()).toEqual([]);
  });

  test("CNV-2 what cannot be restored is left as it is", async () => {
    const store = memoryConversations();
    const put = async (body: string, revision: number) => {
      await store.acquire("ada", { token: "t", leaseMs: 1_000 });
      await store.save("ada", { token: "t", revision, body });
      await store.release("ada", "t");
    };
    const use = () => withConversation(store, "ada", () => expect.unreachable("it was restored"), { slices });
    const wrong = [
      '{"format":"proviso.conversation"',
      "[]",
      '{"format":"proviso.conversation","version":1}',
      '"sk-dies-ist-geheim',
    ];
    for (const [at, body] of wrong.entries()) {
      await put(body, at + 1);
      const error = await failureOf(use());
      expect(error).toBeInstanceOf(ConversationError);
      expect(error).toMatchObject({ code: "conversation", reason: "unreadable", conversationId: "ada" });
      expect(String(error)).not.toContain("geheim");
      expect((await store.load("ada"))?.body).toBe(body);
    }
    await put('{"format":"proviso.conversation","version":2,"more":true}', wrong.length + 1);
    expect(await failureOf(use())).toMatchObject({ reason: "newer", conversationId: "ada" });
    // It is free again.
    expect(await store.acquire("ada", { token: "u", leaseMs: 1 })).toMatchObject({ ok: true });
  });
});

test("CNV-2 a conversation is read while a writer has it, and what is done with what was read is not saved", async () => {
  const store = memoryConversations();
  expect(await readConversation(store, "ada", { slices })).toBeUndefined();
  await withConversation(
    store,
    "ada",
    async (conversation) => {
      await conversation.evaluate(adapterOf(adds("milk"), { text: "Noted." }), said("Buy milk."));
      await conversation.save();
      await conversation.evaluate(adapterOf({ text: "Later." }), said("More."));
      const read = await readConversation(store, "ada", { slices });
      expect([read?.revision, read?.messages.length, read?.session.get(tasks)]).toEqual([1, 4, ["milk"]]);
      read?.session.dispatch(added({ title: "bread" }));
    },
    { slices },
  );
  expect(await stored(store)).toMatchObject({ revision: 2, tasks: ["milk"] });
  expect(await failureOf(readConversation(store, "ada", { slices: [] }))).toMatchObject({
    reason: "unreadable",
    conversationId: "ada",
  });
});

describe("CNV-3 session and messages agree", () => {
  test("CNV-3 a failed evaluation that is caught is remembered, as its calls are", async () => {
    const store = memoryConversations();
    const model = scriptedModel([
      adds("bread"),
      { failure: "provider", reason: "bad_request", message: "no" },
      { text: "Bread is noted." },
    ]);
    const adapter = modelAdapter(model);
    await withConversation(
      store,
      "ada",
      async (conversation) => {
        const error = await failureOf(conversation.evaluate(adapter, said("Buy bread.")));
        expect(error).toMatchObject({ code: "provider" });
      },
      { slices },
    );
    expect(await stored(store)).toMatchObject({
      texts: ["user: Buy bread.", "assistant: ", "tool: Done."],
      tasks: ["bread"],
    });
    await withConversation(
      store,
      "ada",
      async (conversation) => {
        const { messages: continueFrom } = conversation;
        await conversation.evaluate(adapter, said("Buy bread."), { continueFrom });
      },
      { slices },
    );
    expect(await stored(store)).toMatchObject({
      texts: ["user: Buy bread.", "assistant: ", "tool: Done.", "assistant: Bread is noted."],
      tasks: ["bread"],
    });
  });

  test("CNV-3 a transaction that is undone takes back the state alone, and keep puts the messages back", async () => {
    const store = memoryConversations();
    await using resources = await openResources([]);
    await withConversation(
      store,
      "ada",
      async (conversation) => {
        const { messages: before, session } = conversation;
        const undone = transaction({ session, resources }, async (rollback) => {
          await conversation.evaluate(adapterOf(adds("milk"), { text: "Noted." }), said("Buy milk."));
          await rollback();
        });
        await undone;
        expect([session.get(tasks), conversation.messages.length]).toEqual([[], 4]);
        conversation.keep(before);
      },
      { slices },
    );
    expect(await stored(store)).toMatchObject({ texts: [], tasks: [] });
  });

  test("CNV-3 an evaluation that could not begin changes nothing", async () => {
    const store = memoryConversations();
    await withConversation(store, "ada", async (conversation) => {
      await conversation.evaluate(adapterOf({ text: "Hi." }), "Hello.");
      const { messages } = conversation;
      const wrong = [{ maxTurns: 0 }, { maxSteps: 3 }, { signal: 7 }, { deadline: 5 }];
      for (const options of wrong) {
        const error = await failureOf(conversation.evaluate(adapterOf(), "Hello.", options as object));
        expect(error).toMatchObject({ code: "option", option: Object.keys(options)[0] });
      }
      await failureOf(conversation.evaluate(adapterOf(), undefined as never));
      await failureOf(conversation.evaluate(adapterOf(), ""));
      expect(conversation.messages).toEqual(messages);
    });
  });

  test("CNV-3 a stream's messages are there with its response, and one that still runs is waited for", async () => {
    const store = memoryConversations();
    const adapter = adapterOf({ text: "One." }, { text: "Two." });
    await withConversation(store, "ada", async (conversation) => {
      const stream = conversation.stream(adapter, "1");
      const kinds: string[] = [];
      for await (const { type } of stream) kinds.push(type);
      expect(kinds.at(-1)).toBe("prompt.executed");
      expect((await stream.response).output).toBe("One.");
      expect(textsOf(conversation.messages)).toEqual(["user: 1", "assistant: One."]);
      conversation.stream(adapter, "2");
    });
    expect((await stored(store))?.texts).toEqual(["user: 1", "assistant: One.", "user: 2", "assistant: Two."]);
  });

  test("CNV-3 one evaluation at a time", async () => {
    const store = memoryConversations();
    const adapter = adapterOf({ text: "One." }, { text: "Two." });
    await withConversation(store, "ada", async (conversation) => {
      const first = conversation.evaluate(adapter, "1");
      await expect(conversation.evaluate(adapter, "2")).rejects.toThrow(DefinitionError);
      expect(() => conversation.stream(adapter, "2")).toThrow("one evaluation at a time");
      await first;
      await conversation.evaluate(adapter, "2");
    });
    expect((await stored(store))?.texts).toHaveLength(4);
  });

  test("CNV-3 both halves are the conversation's own", async () => {
    await withConversation(memoryConversations(), "ada", async (conversation) => {
      for (const options of [{ messages: [] }, { session: conversation.session }])
        await expect(conversation.evaluate(adapterOf(), "1", options as object)).rejects.toThrow("its own");
    });
  });

  test("CNV-3 TX-1 nothing is saved or kept while an evaluation runs: half a turn would be stored", async () => {
    const store = memoryConversations();
    const refusals: unknown[] = [];
    let used: Conversation | undefined;
    const saves = defineTool({
      name: "saves",
      description: "Saves in the middle.",
      input: z.object({}),
      async execute(_, { session }) {
        session.dispatch(added({ title: "undone" }));
        refusals.push(await failureOf((used as Conversation).save()));
        try {
          (used as Conversation).keep([{ role: "user", text: "kept" }]);
        } catch (error) {
          refusals.push(error);
        }
        throw new Error("The call is undone.");
      },
    });
    const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Go.", tools: [saves], slices: [tasks] }] });
    const adapter = adapterOf(
      { toolCalls: [{ name: "saves" }] },
      { failure: "provider", reason: "unknown", message: "" },
    );
    const failed = withConversation(
      store,
      "ada",
      (conversation) => (used = conversation).evaluate(adapter, prompt.bind()),
      { slices },
    );
    expect(await failureOf(failed)).toMatchObject({ code: "provider" });
    expect(refusals).toEqual([expect.any(DefinitionError), expect.any(DefinitionError)]);
    expect(String(refusals[0])).toContain("conversation.save was called while an evaluation runs");
    expect(String(refusals[1])).toContain("conversation.keep was called while an evaluation runs");
    expect(await store.load("ada")).toBeUndefined();
  });

  test("CNV-3 what awaits a response may save, keep and begin the next turn at once", async () => {
    const store = memoryConversations();
    const adapter = adapterOf(
      { text: "One." },
      { text: "Two." },
      { failure: "provider", reason: "unknown", message: "" },
    );
    await withConversation(store, "ada", async (conversation) => {
      await conversation.stream(adapter, "1").response;
      const saving = conversation.save();
      await conversation.stream(adapter, "2").response;
      conversation.keep(conversation.messages.slice(0, 2));
      await saving;
      await conversation.stream(adapter, "3").response.catch(() => conversation.save());
      expect(conversation.revision).toBe(2);
    });
    expect((await stored(store))?.texts).toEqual(["user: 1", "assistant: One.", "user: 3"]);
  });

  test("CNV-3 `keep` puts other messages in place, and refuses what could not be restored", async () => {
    const store = memoryConversations();
    await withConversation(store, "ada", (conversation) => {
      const note: Message = { role: "assistant", text: "The service is down.", toolCalls: [] };
      conversation.keep([{ role: "system", text: "old" }, { role: "user", text: "Hi." }, note]);
      for (const wrong of [[{ role: "user" }], [{ ...note, toolCalls: [{ id: "1", name: "a", arguments: "" }] }]])
        expect(() => conversation.keep(wrong as never)).toThrow(DefinitionError);
    });
    expect((await stored(store))?.texts).toEqual(["user: Hi.", "assistant: The service is down."]);
  });

  test("CNV-2 CNV-3 what work in the background begins once the function has returned is refused; what was under way is saved", async () => {
    const store = memoryConversations();
    const model = scriptedModel([{ text: "one" }, { text: "two" }]);
    const adapter = modelAdapter(model);
    let background: Promise<unknown> | undefined;
    await withConversation(store, "ada", (conversation) => {
      background = (async () => {
        await conversation.evaluate(adapter, "1");
        return conversation.evaluate(adapter, "2");
      })();
      background.catch(() => {});
    });
    await expect(background).rejects.toThrow(RevokedError);
    await expect(background).rejects.toThrow("was used after its function ended");
    expect(model.requests).toHaveLength(1);
    expect(await stored(store)).toMatchObject({ revision: 1, texts: ["user: 1", "assistant: one"] });
  });

  test("CNV-2 CNV-3 nothing is done with a conversation while it is saved or left", async () => {
    for (const fails of [false, true]) {
      const memory = memoryConversations();
      const saving = Promise.withResolvers<void>();
      const go = Promise.withResolvers<void>();
      const store: ConversationStore = {
        ...memory,
        async save(...of) {
          saving.resolve();
          await go.promise;
          return memory.save(...of);
        },
        async release(...of) {
          saving.resolve();
          await go.promise;
          await memory.release(...of);
        },
      };
      let used: Conversation | undefined;
      const using = withConversation(store, "ada", (conversation) => {
        used = conversation;
        conversation.keep([{ role: "user", text: "kept" }]);
        if (fails) throw new Error("It failed.");
      });
      using.catch(() => {});
      await saving.promise;
      const conversation = used as Conversation;
      const model = scriptedModel([{ text: "late" }]);
      await expect(conversation.evaluate(modelAdapter(model), "late")).rejects.toThrow(RevokedError);
      expect(() => conversation.stream(modelAdapter(model), "late")).toThrow(RevokedError);
      expect(() => conversation.keep([])).toThrow(RevokedError);
      await expect(conversation.save()).rejects.toThrow(RevokedError);
      go.resolve();
      await using.catch(() => {});
      expect(model.requests).toEqual([]);
      expect((await stored(store))?.texts).toEqual(fails ? undefined : ["user: kept"]);
    }
  });

  test("CNV-3 after its function has ended a conversation does nothing", async () => {
    const store = memoryConversations();
    const conversation = await withConversation(store, "ada", (given): Conversation => given);
    await expect(conversation.evaluate(adapterOf(), "1")).rejects.toThrow(RevokedError);
    expect(() => conversation.stream(adapterOf(), "1")).toThrow(RevokedError);
    expect(() => conversation.keep([])).toThrow(RevokedError);
    await expect(conversation.save()).rejects.toThrow(RevokedError);
  });
});

describe("CNV-4 one writer at a time", () => {
  test("CNV-4 a second one is refused at once, or after waitMs, and gets in when the first ends", async () => {
    const { clock, random } = fakeEnvironment();
    const store = memoryConversations({ clock });
    const first = Promise.withResolvers<void>();
    const holding = withConversation(store, "ada", () => first.promise, { clock, random });
    const expiresAt = new Date(clock.now() + 30_000);
    const busy = await failureOf(withConversation(store, "ada", () => {}, { clock, random }));
    expect(busy).toBeInstanceOf(ConversationError);
    expect(busy).toMatchObject({ reason: "busy", conversationId: "ada", expiresAt });
    const patient = failureOf(withConversation(store, "ada", () => {}, { clock, random, waitMs: 1_000 }));
    await clock.advance(1_100);
    expect(await patient).toMatchObject({ reason: "busy" });
    const later = withConversation(store, "ada", () => "in", { clock, random, waitMs: 10_000 });
    await clock.advance(500);
    first.resolve();
    await holding;
    await clock.advance(500);
    expect(await later).toBe("in");
    expect(clock.pending).toBe(0);
  });

  test("CNV-4 many at once each see the messages of the one before", async () => {
    const store = memoryConversations();
    const adapter = modelAdapter({
      name: "count",
      model: "count",
      capabilities: { tools: false, nativeOutput: false },
      async generate({ messages }) {
        return { message: { role: "assistant", text: `${messages.length}`, toolCalls: [] }, finishReason: "stop" };
      },
    });
    const turns = Array.from({ length: 12 }, () =>
      withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, "Hi."), { waitMs: 20_000 }),
    );
    const outputs = (await Promise.all(turns)).map(({ output }) => Number(output));
    expect(outputs.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => 2 * i + 1));
    expect(await stored(store)).toMatchObject({ revision: 12, texts: { length: 24 } });
  });

  test("CNV-4 a lease is renewed for as long as the function runs, and nothing is left behind", async () => {
    const { clock, random } = fakeEnvironment();
    const store = memoryConversations({ clock });
    const first = Promise.withResolvers<void>();
    const holding = withConversation(store, "ada", () => first.promise, { clock, random, leaseMs: 900 });
    await clock.advance(10_000);
    expect(await store.acquire("ada", { token: "b", leaseMs: 1 })).toMatchObject({ ok: false });
    expect(clock.pending).toBe(1);
    first.resolve();
    await holding;
    expect(clock.pending).toBe(0);
    expect(await store.acquire("ada", { token: "b", leaseMs: 1 })).toMatchObject({ ok: true });
  });

  test("CNV-4 a lease is renewed at each third of its time", async () => {
    const { clock, random } = fakeEnvironment();
    const store = memoryConversations({ clock });
    const renewals: number[] = [];
    const begun = clock.now();
    const watched: ConversationStore = {
      ...store,
      renew(id, wish) {
        renewals.push(clock.now() - begun);
        return store.renew(id, wish);
      },
    };
    const first = Promise.withResolvers<void>();
    const holding = withConversation(watched, "ada", () => first.promise, { clock, random, leaseMs: 900 });
    await clock.advance(1_000);
    expect(renewals).toEqual([300, 600, 900]);
    first.resolve();
    await holding;
  });

  test("CNV-4 a renewal that is under way when the lease is released is the last one", async () => {
    const { clock, random } = fakeEnvironment();
    const store = memoryConversations({ clock });
    const [first, renewed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: ConversationStore = {
      ...store,
      async renew(id, lease) {
        await renewed.promise;
        await store.renew(id, lease);
        // It had the lease when it was asked.
        return true;
      },
    };
    const holding = withConversation(slow, "ada", () => first.promise, { clock, random, leaseMs: 900 });
    await clock.advance(300);
    first.resolve();
    await holding;
    renewed.resolve();
    await clock.advance(10);
    expect(clock.pending).toBe(0);
  });

  test("CNV-4 an abort ends the wait with its reason, and the evaluation", async () => {
    const { clock, random } = fakeEnvironment();
    const store = memoryConversations({ clock });
    await store.acquire("ada", { token: "b", leaseMs: 1e6 });
    const leaving = new AbortController();
    const waiting = failureOf(
      withConversation(store, "ada", () => {}, { clock, random, waitMs: 1e6, signal: leaving.signal }),
    );
    await clock.advance(100);
    leaving.abort(new Error("left"));
    expect(await waiting).toMatchObject({ message: "left" });
    expect(clock.pending).toBe(0);
    const stopping = new AbortController();
    const running = failureOf(
      withConversation(
        memoryConversations(),
        "ada",
        (conversation) => {
          stopping.abort(new Error("stop"));
          return conversation.evaluate(adapterOf({ text: "1" }), "1");
        },
        { signal: stopping.signal },
      ),
    );
    expect(await running).toMatchObject({ code: "aborted", cause: { message: "stop" } });
  });

  test.each([
    [{ waitMs: -1 }, "waitMs"],
    [{ waitMs: Number.NaN }, "waitMs"],
    [{ leaseMs: 99 }, "leaseMs"],
    [{ leaseMs: Infinity }, "leaseMs"],
    [{ secrets: [""] }, "secret"],
    [{ slice: [] }, "Did you mean slices?"],
  ])("CNV-4 the options %j are refused before anything is asked", async (options, says) => {
    const store = { acquire: () => expect.unreachable("it was asked") } as unknown as ConversationStore;
    const error = await failureOf(withConversation(store, "ada", () => {}, options as object));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(String(error)).toContain(says);
  });

  test("CNV-4 no store, no id and no function are named", async () => {
    const store = memoryConversations();
    await expect(withConversation({} as never, "ada", () => {})).rejects.toThrow("needs a store");
    await expect(withConversation(store, "a\nb", () => {})).rejects.toThrow("control characters");
    await expect(withConversation(store, "ada", {} as never)).rejects.toThrow("needs a function");
  });
});

describe("CNV-5 a writer that lost its lease saves nothing", () => {
  test("CNV-5 its save fails with what is the matter, and what the other saved stays", async () => {
    const { clock, random } = fakeEnvironment();
    const store = memoryConversations({ clock });
    const held = Promise.withResolvers<void>();
    // Its process stood still: its clock, which renews the lease, does not move.
    const stopped = fakeClock();
    const late = failureOf(
      withConversation(
        store,
        "ada",
        async (conversation) => {
          await held.promise;
          conversation.keep([{ role: "user", text: "late" }]);
        },
        { clock: stopped, random, leaseMs: 1_000 },
      ),
    );
    await clock.advance(1_000);
    await withConversation(store, "ada", (conversation) => conversation.keep([{ role: "user", text: "in time" }]), {
      clock,
      random,
    });
    held.resolve();
    expect(await late).toBeInstanceOf(ConversationError);
    expect(await late).toMatchObject({ reason: "lost", conversationId: "ada" });
    expect((await stored(store))?.texts).toEqual(["user: in time"]);
  });

  test("CNV-5 its evaluation is aborted when the next renewal finds out", async () => {
    const { clock, random, newId } = fakeEnvironment();
    const store = memoryConversations({ clock });
    const adapter = modelAdapter(scriptedModel([{ text: "slow", afterMs: 1e6 }], { clock }), { clock, random, newId });
    let signal: AbortSignal | undefined;
    const losing = failureOf(
      withConversation(
        store,
        "ada",
        (conversation) => {
          signal = conversation.signal;
          return conversation.evaluate(adapter, "1");
        },
        { clock, random, leaseMs: 900 },
      ),
    );
    await clock.advance(1);
    await store.delete("ada");
    await clock.advance(300);
    expect(await losing).toMatchObject({ code: "conversation", reason: "lost" });
    expect(signal?.reason).toMatchObject({ reason: "lost" });
    expect(clock.pending).toBe(0);
    expect(await store.list()).toEqual([]);
  });

  test("CNV-5 a store that fails to renew is asked again; one that fails to release costs nothing", async () => {
    const { clock, random } = fakeEnvironment();
    const memory = memoryConversations({ clock });
    let renewals = 0;
    const store: ConversationStore = {
      ...memory,
      renew: (id, lease) => (++renewals % 2 === 1 ? Promise.reject(new Error("down")) : memory.renew(id, lease)),
      release: () => Promise.reject(new Error("down")),
    };
    const held = Promise.withResolvers<string>();
    const holding = withConversation(store, "ada", () => held.promise, { clock, random, leaseMs: 900 });
    await clock.advance(3_000);
    expect(renewals).toBe(10);
    held.resolve("held");
    expect(await holding).toBe("held");
  });
});

test("CNV-4 a clock that is set back makes the wait for another writer no longer, nor does odd randomness", async () => {
  const store = memoryConversations();
  let [offset, sleeps] = [0, 0];
  const clock = {
    now: () => Date.now() + offset,
    sleep(ms: number, signal?: AbortSignal) {
      offset -= 3_600_000;
      sleeps += 1;
      return systemClock.sleep(ms, signal);
    },
  };
  await withConversation(store, "ada", async () => {
    const waiting = withConversation(store, "ada", () => {}, { waitMs: 60, clock, random: () => Number.NaN });
    await expect(waiting).rejects.toMatchObject({ reason: "busy" });
  });
  expect(sleeps).toBeLessThan(100);
});

test("CNV-1 FILE-3 a turn with a file is refused where no Blobs keep its bytes, and nothing is saved", async () => {
  const store = memoryConversations();
  const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "What is it? {{photo}}" });
  const files = { types: ["image/png"], from: ["stored"] } as const;
  const turn = (options = {}) =>
    withConversation(store, "ada", async (conversation) => {
      const model = scriptedModel([{ text: "A cat." }], { capabilities: { files } });
      return (await conversation.evaluate(modelAdapter(model), see.bind({ photo: testImage() }), options)).output;
    });
  await expect(turn()).rejects.toThrow("bind Blobs");
  expect(await store.list()).toEqual([]);
  expect(await turn({ resources: [provide(Blobs, memoryBlobs())] })).toBe("A cat.");
});

describe("CNV-8 secrets", () => {
  const secret = "sk-1234567890-geheim";

  test("CNV-8 a secret that is named is in no text that is saved, and what is saved can be restored", async () => {
    const store = memoryConversations();
    const secretTool = defineTool({
      name: "env",
      description: "Prints the environment.",
      input: z.object({}),
      execute: (_, { session }) => {
        session.dispatch(added({ title: `key ${secret}` }));
        return { key: secret, url: encodeURIComponent(secret) };
      },
    });
    const prompt = definePrompt({
      key: "env",
      sections: [{ key: "a", text: "Go.", tools: [secretTool], slices: [tasks] }],
    });
    const at = `Look at ${secret}: `.length;
    const file = linkedFile("https://example.com/a.png", { mediaType: "image/png" });
    await withConversation(
      store,
      "ada",
      async (conversation) => {
        await conversation.evaluate(
          adapterOf({ toolCalls: [{ name: "env", arguments: {} }] }, { text: `It is ${secret}.` }),
          prompt.bind(),
        );
        expect(JSON.stringify(conversation.messages)).toContain(secret);
        conversation.keep([
          ...conversation.messages,
          { role: "user", text: `Look at ${secret}: `, cacheAt: [at], files: [{ at, file }] },
        ]);
      },
      { slices: [tasks], secrets: [secret] },
    );
    const body = (await store.load("ada"))?.body ?? "";
    expect(body).not.toContain(secret);
    expect(body).not.toContain(Buffer.from(secret).toString("base64").slice(0, 20));
    expect(body).toContain("[secret]");
    await withConversation(
      store,
      "ada",
      ({ messages, session }) => {
        expect(textsOf(messages).at(-2)).toBe("assistant: It is [secret].");
        expect(messages.at(-1)).toMatchObject({
          text: "Look at [secret]: ",
          files: [{ at: "Look at [secret]: ".length }],
        });
        expect(session.get(tasks)).toEqual(["key [secret]"]);
      },
      { slices: [tasks] },
    );
  });

  test.each(["Look: ", `Look at ${secret}: `])("CNV-8 what names a file is hidden too, beside %j", async (text) => {
    const store = memoryConversations();
    const mediaType = "image/png";
    const name = `${secret}.png`;
    const files = [
      linkedFile(`https://example.com/${secret}.png`, { mediaType, name }),
      uploadedFile({ openai: secret }, { mediaType, name }),
    ].map((file) => ({ at: text.length, file }));
    await withConversation(store, "ada", (conversation) => conversation.keep([{ role: "user", text, files }]), {
      secrets: [secret],
    });
    expect((await store.load("ada"))?.body).not.toContain(secret);
    const [message] = await withConversation(store, "ada", ({ messages }) => messages);
    expect(message?.files?.map(({ file }) => file.name)).toEqual(["[secret].png", "[secret].png"]);
  });

  test.each([
    ["a text of a form", { account: "acc-77120", pin: 1 }, "account"],
    ["a number", { account: "acc-1", pin: 77120 }, "pin"],
  ])("CNV-8 CNV-1 a state that its schema does not accept without its secret, %s, is refused", async (_, of, path) => {
    const connected = defineEvent("connected", z.object({ account: z.string(), pin: z.number() }));
    const account = defineSlice({
      name: "account",
      schema: z.object({ account: z.string().startsWith("acc-"), pin: z.number() }),
      initial: { account: "acc-0", pin: 0 },
      reducers: ({ on }) => on(connected, (_state, { account: name, pin }) => ({ account: name, pin })),
    });
    const store = memoryConversations();
    const options = { slices: [account], secrets: ["acc-77120", "77120"] };
    await withConversation(store, "c", (c) => c.keep([{ role: "user", text: "Hello" }]), options);
    const saving = withConversation(store, "c", (c) => void c.session.dispatch(connected(of)), options);
    await expect(saving).rejects.toThrow(`The state of slice "account" cannot be saved: ${path}`);
    const kept = await readConversation(store, "c", { slices: [account] });
    expect([kept?.session.get(account), kept?.messages.length]).toEqual([{ account: "acc-0", pin: 0 }, 1]);
  });

  test("CNV-8 a word of ours that is a secret does not make a conversation unreadable", async () => {
    const store = memoryConversations();
    const secrets = ["user", "assistant", "tasks", "proviso.conversation", "state", "add_task"];
    const turn = (text: string, ...steps: Parameters<typeof scriptedModel>[0]) =>
      withConversation(store, "ada", (conversation) => conversation.evaluate(adapterOf(...steps), said(text)), {
        slices,
        secrets,
      });
    await turn("the user's tasks", adds("user"), { text: "assistant" });
    await turn("more", { text: "ok" });
    expect(await stored(store)).toMatchObject({ revision: 2, tasks: ["[secret]"] });
  });
});

test("CNV-4 a store that throws in place of rejecting ends no process, and is asked again", async () => {
  const { clock } = fakeEnvironment();
  const inner = memoryConversations({ clock });
  let renewals = 0;
  const store: ConversationStore = {
    ...inner,
    renew(id, lease) {
      renewals += 1;
      if (renewals === 1) throw new Error("SQLITE_BUSY: database is locked");
      return inner.renew(id, lease);
    },
    release() {
      throw new Error("SQLITE_BUSY: database is locked");
    },
  };
  const use = withConversation(store, "ada", () => clock.sleep(250).then(() => "done"), { clock, leaseMs: 300 });
  await clock.advance(250);
  expect(await use).toBe("done");
  expect(renewals).toBe(2);
});

test.each(["evaluate", "stream"] as const)(
  "CNV-1 %s with a signal that has fired asks nothing, renders nothing and keeps no question",
  async (method) => {
    const model = scriptedModel([{ text: "a" }]);
    const adapter = modelAdapter(model);
    await withConversation(memoryConversations(), "ada", async (conversation) => {
      const events: string[] = [];
      conversation.session.on("*", ({ type }) => void events.push(type));
      const begun = conversation[method](adapter, "Hi", { signal: AbortSignal.abort() });
      const response = "response" in begun ? begun.response : begun;
      await expect(response).rejects.toMatchObject({ code: "aborted" });
      expect({ events, asked: model.callCount, messages: conversation.messages }).toEqual({
        events: [],
        asked: 0,
        messages: [],
      });
    });
  },
);
