import {
  Blobs,
  BlobError,
  deadlineIn,
  parseMessages,
  provide,
  type HistoryCompacted,
  type ModelRequest,
  type StoredFile,
  type ToolMessage,
} from "@proviso/core";
import {
  createSession,
  memoryBlobs,
  memoryConversations,
  openFile,
  withConversation,
  type Environment,
} from "@proviso/runtime";
import { fakeClock, fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test, vi } from "vitest";
import { promptWith, rejection } from "../support.ts";
import { calls, context, modelOf, reader } from "./support.ts";

const policy = { window: 50_000, toolResultCharacters: 1_000 };
const resultsIn = ({ messages }: ModelRequest): readonly ToolMessage[] =>
  messages.filter((message) => message.role === "tool");
const readFrom = (request: ModelRequest, from: number) => {
  const ref = /"ref": "([0-9a-f]+)"/.exec(resultsIn(request)[0]?.text ?? "")?.[1];
  const given = JSON.stringify({ ref, from });
  return { toolCalls: [{ id: "read_1", name: "read_result", arguments: given }] };
};
const reading = () => modelOf((request, turn) => (turn === 1 ? readFrom(request, 500) : { text: "Read." }));
const looking = (environment: Environment = {}) =>
  modelOf((_, turn) => (turn === 1 ? calls(1) : { text: "Done." }), {}, environment);

/** A store, and what it has stored. */
function watchedBlobs(fields: Partial<Blobs> = {}) {
  const stored: string[] = [];
  const inner = memoryBlobs();
  const blobs: Blobs = {
    ...inner,
    async put(bytes) {
      const put = await inner.put(bytes);
      stored.push(put.hash);
      return put;
    },
    ...fields,
  };
  return { blobs, stored, resources: [provide(Blobs, blobs)] };
}

test("BLOB-4 CTX-11 the messages as they were are in the store before history.compacted names them", async () => {
  const { blobs, stored, resources } = watchedBlobs();
  const session = createSession();
  const named: boolean[] = [];
  const transcripts: StoredFile[] = [];
  session.on("history.compacted", ({ transcript }: HistoryCompacted) => {
    named.push(stored.includes(transcript.hash));
    transcripts.push(JSON.parse(JSON.stringify(transcript)) as StoredFile);
  });
  const { adapter, requests } = modelOf((_, turn) => (turn <= 20 ? calls(turn) : { text: "Done." }));
  await adapter.evaluate(promptWith(reader(1_500)), { context, session, resources });
  expect(named).toContain(true);
  expect(named).not.toContain(false);
  const [first] = transcripts;
  const file = await openFile(first as StoredFile, blobs);
  const messages = parseMessages(JSON.parse(await file.text()));
  expect(file.type).toBe("application/json");
  expect(messages.slice(0, 2)).toEqual(requests[1]?.messages.slice(1, 3));
});

test("BLOB-4 CTX-12 a long result is in the store before a message names it, and a stored message is read on from there", async () => {
  const { stored, resources } = watchedBlobs();
  const { adapter, requests } = looking();
  const { messages } = await adapter.evaluate(promptWith(reader(5_000)), { context: policy, resources });
  expect(stored).toEqual(resultsIn(requests[1] as ModelRequest).map(({ full }) => full?.hash));
  const second = reading();
  const given = parseMessages(JSON.parse(JSON.stringify(messages)));
  await second.adapter.evaluate("And now?", { context: policy, messages: given, resources });
  expect(resultsIn(second.requests[1] as ModelRequest)[1]?.text).toMatch(
    /^\[Characters 500 to 1500 of 5000; it goes on from 1500\]\n1{1000}$/,
  );
});

test("CTX-12 the next turn of a stored conversation reads what the one before has left out, where Blobs are bound", async () => {
  const { resources } = watchedBlobs();
  const store = memoryConversations();
  const prompt = promptWith(reader(5_000));
  const turn = ({ adapter }: ReturnType<typeof modelOf>) =>
    withConversation(store, "ada", (talk) => talk.evaluate(adapter, prompt, { context: policy, resources }), {
      slices: prompt.template.slices,
    });
  await turn(looking());
  const second = reading();
  await turn(second);
  expect(resultsIn(second.requests[1] as ModelRequest)[1]?.text).toMatch(/^\[Characters 500 to 1500 of 5000;/);
});

test("CTX-12 what a store refuses stays with the message that names it: the history is the same, and it is logged", async () => {
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn(), error: vi.fn() };
  const full = new BlobError("No space is left.", { reason: "failed" });
  const refusing = watchedBlobs({ put: () => Promise.reject(full), get: () => Promise.reject(full) });
  const { messages: expected } = await looking().adapter.evaluate(promptWith(reader(5_000)), { context: policy });
  const { adapter } = looking({ logger });
  const { resources } = refusing;
  const { messages } = await adapter.evaluate(promptWith(reader(5_000)), { context: policy, resources });
  expect(messages).toEqual(expected);
  const fields = expect.objectContaining({ name: "read call_1.txt", error: "No space is left." }) as unknown;
  expect(logger.warn.mock.calls).toEqual([[fields, "history.text.not_stored"]]);
  const second = reading();
  await second.adapter.evaluate("And now?", { context: policy, messages });
  expect(resultsIn(second.requests[1] as ModelRequest)[1]).toMatchObject({ isError: false });
});

test("LIM-2 CTX-12 a store that does not settle holds an evaluation no longer than its deadline", async () => {
  const clock = fakeClock();
  const { resources } = watchedBlobs({ put: () => new Promise(() => {}) });
  const { adapter } = looking();
  const options = { context: policy, resources, deadline: deadlineIn(1_000, clock) };
  const failed = rejection(adapter.evaluate(promptWith(reader(5_000)), options));
  await clock.advance(1_000);
  expect(await failed).toMatchObject({ code: "deadline" });
});

test("SEC-1 CTX-11 CTX-12 what is stored of a history shows no secret, and no end of a result is cut inside one", async () => {
  const secret = "sk-very-secret-0123456789";
  const kept: string[] = [];
  const { resources } = watchedBlobs({
    async put(bytes) {
      kept.push(new TextDecoder().decode(bytes));
      return memoryBlobs().put(bytes);
    },
  });
  const session = createSession();
  const compacted = vi.fn();
  session.on("history.compacted", compacted);
  // The end that is shown would begin or end somewhere inside one of these.
  const tool = { ...reader(1), execute: () => `${secret} `.repeat(150) };
  const answer = (_: ModelRequest, turn: number) => (turn <= 20 ? calls(turn) : { text: "Done." });
  const { adapter, requests } = modelOf(answer, {}, { secrets: [secret] });
  const shortened = { window: 8_000, toolResultCharacters: 1_500 };
  await adapter.evaluate(promptWith(tool), { context: shortened, session, resources });
  expect(compacted).toHaveBeenCalled();
  expect(kept.some((text) => text.startsWith("["))).toBe(true);
  expect(kept.filter((text) => text.includes("very-secret"))).toEqual([]);
  expect(resultsIn(requests.at(-1) as ModelRequest).filter(({ text }) => text.includes("very"))).toEqual([]);
});

test("CTX-4 a result that begins like a file of another kind becomes a stub, too", async () => {
  const { resources } = watchedBlobs();
  const tool = { ...reader(1), execute: () => `%PDF-1.7\u0000${"x".repeat(1_500)}` };
  const { adapter, requests } = modelOf((_, turn) => (turn <= 20 ? calls(turn) : { text: "Done." }));
  await adapter.evaluate(promptWith(tool), { context, resources });
  expect(resultsIn(requests.at(-1) as ModelRequest)[0]?.text).toMatch(/^\[Left out: a result of 1509 characters\./);
});

test.each([20_000, 2_000_000])(
  "CTX-12 storing a text of %i characters takes no time of an injected clock",
  async (length) => {
    for (let n = 0; n < 3; n++) {
      const environment = fakeEnvironment(7);
      const { clock } = environment;
      const times: number[] = [];
      const model = modelOf(
        (_, turn) => {
          times.push(clock.now());
          return turn === 1 ? calls(1) : { text: "Done." };
        },
        {},
        environment,
      );
      const ended = model.adapter.evaluate(promptWith(reader(length)), { context: { ...policy, window: 20_000 } });
      let isOver = false;
      void ended.finally(() => (isOver = true));
      while (!isOver) await clock.advance(10);
      expect(times[1]).toBe(times[0]);
    }
  },
);
