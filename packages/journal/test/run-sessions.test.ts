import {
  allow,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  RunError,
  suspend,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { createSession, memoryConversations, modelAdapter, withConversation } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const refunded = defineEvent("refunded", z.object({ cents: z.number() }));
const total = defineSlice({
  name: "total",
  initial: 0,
  reducers: ({ on }) => on(refunded, (state, { cents }) => state + cents),
});
const refund = defineTool({
  name: "refund",
  description: "Pays back.",
  input: z.object({ cents: z.number() }),
  execute: ({ cents }, { session }) => {
    session.dispatch(refunded({ cents }));
    return `paid ${cents}`;
  },
});
const manager = definePolicy({
  name: "manager",
  tools: [refund],
  check: ({ input }) => (input.cents > 1_000 ? suspend("Refund?") : allow()),
});
const desk = definePrompt({
  key: "desk",
  params: z.object({ said: z.string() }),
  policies: [manager],
  sections: [
    { key: "rules", text: "Help.", tools: [refund], slices: [total] },
    { key: "said", role: "user", text: "{{said}}" },
  ],
});

describe("RSM-4 a run with a session that is listened to", () => {
  const cut = { failure: "throttle", kind: "network", message: "Cut off." } as const;
  const adapter = modelAdapter(scriptedModel([cut, { text: "Done." }, { text: "Done." }]), {
    throttle: { maxAttempts: 1 },
  });
  const prompt = desk.bind({ said: "Hello." });

  it("says how to make the session again, and that works", async () => {
    for (const slices of [undefined, desk.slices]) {
      const model = scriptedModel([cut, { text: "Done." }]);
      const own = modelAdapter(model, { throttle: { maxAttempts: 1 } });
      const journal = memoryJournal();
      const go = (session = createSession({ slices })) => own.evaluate(prompt, { session, run: journal.run("r") });
      const first = createSession({ slices });
      await expect(go(first)).rejects.toMatchObject({ code: "throttled" });
      const message = `createSession({ id: ${JSON.stringify(first.id)}, slices: prompt.slices })`;
      await expect(go()).rejects.toMatchObject({
        code: "option",
        option: "session",
        message: expect.stringContaining(message),
      });
      const types: string[] = [];
      const again = createSession({ id: first.id, slices: desk.slices });
      again.on("*", ({ type }) => void types.push(type));
      expect((await go(again)).text).toBe("Done.");
      expect(types).toContain("prompt.executed");
    }
  });

  it("goes on with a session whose id is made of the run's", async () => {
    const journal = memoryJournal();
    const go = () =>
      adapter.evaluate(prompt, {
        session: createSession({ id: "session of r", slices: desk.slices }),
        run: journal.run("r"),
      });
    await expect(go()).rejects.toMatchObject({ code: "throttled" });
    expect((await go()).text).toBe("Done.");
  });
});

describe("RSM-4 a run that waits in a conversation that goes on", () => {
  /** A model that calls `refund` for what was said, and says what came of it. */
  const answer: ScriptedStep = ({ messages }) => {
    const last = messages.at(-1);
    const cents = /refund (\d+)/.exec(last?.text ?? "")?.[1];
    if (last?.role === "user" && cents !== undefined)
      return { toolCalls: [{ name: "refund", arguments: { cents: Number(cents) } }] };
    return { text: last?.role === "tool" ? last.text : "Hello." };
  };
  const talk = () => {
    const [store, journal] = [memoryConversations(), memoryJournal()];
    const adapter = modelAdapter(scriptedModel(Array.from({ length: 12 }, () => answer)));
    let token = "";
    const say = (
      run: string,
      said: string,
      from: Journal["run"] extends (id: string, options: infer O) => unknown ? O : never = {},
    ) =>
      withConversation(
        store,
        "ada",
        async (conversation) => {
          const { text } = await conversation.evaluate(adapter, desk.bind({ said }), { run: journal.run(run, from) });
          return [text, conversation.session.get(total), conversation.messages.length];
        },
        { slices: desk.slices },
      ).catch((error: unknown) => {
        if (error instanceof RunError && error.pending !== undefined) ({ token } = error.pending);
        throw error;
      });
    const edit = (text: string) =>
      withConversation(
        store,
        "ada",
        async ({ messages, keep }) =>
          keep(messages.map((message) => (message.role === "assistant" ? { ...message, text } : message))),
        { slices: desk.slices },
      );
    return { say, edit, journal, adapter, decide: () => journal.resolve(token, allow()) };
  };

  it("ends where the conversation stayed as it was", async () => {
    const { say, decide } = talk();
    await say("t1", "refund 5");
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({ reason: "suspended" });
    await decide();
    expect(await say("t2", "refund 5000")).toEqual(["paid 5000", 5005, 8]);
  });

  it("is refused where messages came, with what to do, and that works", async () => {
    const { say, decide } = talk();
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({ reason: "suspended" });
    await say("t3", "hello");
    await decide();
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({
      reason: "diverged",
      message: expect.stringContaining('journal.run(id, { onChange: "adopt" })'),
    });
    expect(await say("t2", "refund 5000", { onChange: "adopt" })).toEqual(["paid 5000", 5000, 6]);
  });

  it("is refused where an earlier message is another one, with what to do, and that works", async () => {
    const { say, edit, decide } = talk();
    await say("t1", "hello");
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({ reason: "suspended" });
    await edit("Good day.");
    await decide();
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({
      reason: "diverged",
      message: expect.stringMatching(
        /step 0: messages\[2\] of the request is another one\. .* go on with these, by journal\.run\(id, \{ onChange: "adopt" \}\)/,
      ),
    });
    expect((await say("t2", "refund 5000", { onChange: "adopt" }))[0]).toBe("paid 5000");
  });

  it("is refused where the state changed, and ends outside or is given up", async () => {
    const { say, decide, journal, adapter } = talk();
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({ reason: "suspended" });
    await say("t3", "refund 7");
    const other = memoryJournal();
    await decide();
    await expect(say("t2", "refund 5000")).rejects.toMatchObject({
      code: "option",
      message: expect.stringMatching(/has to end before the conversation goes on.*journal\.cancel\("t2"\)/),
    });
    await journal.copy("t2", other);
    // The conversation had no messages when the run began.
    const outside = await adapter.evaluate(desk.bind({ said: "refund 5000" }), { run: other.run("t2"), messages: [] });
    expect(outside.text).toBe("paid 5000");
    await journal.cancel("t2");
    expect((await journal.describe("t2"))?.state).toBe("cancelled");
  });
});
