import { definePrompt, JournalError, RunError } from "@proviso/core";
import { createJournal, type JournalStore } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const ask = definePrompt({ key: "ask", text: "What is two and two?" }).bind();
const answering = () => modelAdapter(scriptedModel([{ text: "Four." }]));

/** A store that counts how often it is closed, and closes when it is let. */
function countedStore(letClose: Promise<unknown> = Promise.resolve()) {
  const store = memoryStore();
  let closes = 0;
  const counted: JournalStore = {
    ...store,
    async close() {
      closes += 1;
      await letClose;
      await store.close();
    },
  };
  return { store: counted, closes: () => closes };
}

test("JST-8 a journal that is closed by several at once closes its store once, and all of them wait for it", async () => {
  const gate = Promise.withResolvers<void>();
  const { store, closes } = countedStore(gate.promise);
  const journal = createJournal(store);
  await answering().evaluate(ask, { run: journal.run("r1") });
  const closed: number[] = [];
  const closing = [1, 2].map((each) => journal.close().then(() => closed.push(each)));
  await new Promise((resolve) => void setImmediate(resolve));
  expect([closes(), closed]).toEqual([1, []]);
  gate.resolve();
  await Promise.all(closing);
  await journal.close();
  await journal[Symbol.asyncDispose]();
  expect([closes(), closed]).toEqual([1, [1, 2]]);
});

test("JST-8 no run begins in a journal once its close has begun, and what is asked of it is refused", async () => {
  const gate = Promise.withResolvers<void>();
  const journal = createJournal(countedStore(gate.promise).store);
  const run = journal.run("r1");
  const closing = journal.close();
  const error: unknown = await answering()
    .evaluate(ask, { run })
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RunError);
  expect((error as RunError).cause).toBeInstanceOf(JournalError);
  expect(error).toMatchObject({ message: expect.stringContaining("is closed"), cause: { reason: "closed" } });
  await expect(journal.describe("r1")).rejects.toMatchObject({ reason: "closed" });
  await expect(journal.remove("r1")).rejects.toMatchObject({ reason: "closed" });
  gate.resolve();
  await closing;
});
