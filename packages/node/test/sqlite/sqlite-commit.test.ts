import { defineEvent, definePrompt, defineSlice, RestoreError } from "@proviso/core";
import { createSession, modelAdapter, openResources, transaction } from "@proviso/runtime";
import { sqliteResource, SqliteDatabase } from "@proviso/node";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { memoryDatabase, sqlTool } from "./support.ts";

const added = defineEvent("added", z.object({}));
const count = defineSlice({ name: "count", initial: 0 as number, reducers: ({ on }) => on(added, (n) => n + 1) });

/** A database whose next commit fails, as that of a disk that is full does. */
async function failing() {
  const database = memoryDatabase("CREATE TABLE notes (id INTEGER PRIMARY KEY)");
  const resources = await openResources([sqliteResource(database)]);
  database.exec("CREATE TABLE late (id REFERENCES notes DEFERRABLE INITIALLY DEFERRED)");
  const session = createSession({ slices: [count] });
  return { database, resources, session };
}

test("TX-2 RES-6 a session whose call could not be committed is never apart from the database: it is unusable", async () => {
  const { database, resources, session } = await failing();
  await using _ = resources;
  const add = sqlTool("add", (mine, context) => {
    mine.run("INSERT INTO late VALUES (9)");
    context.session.dispatch(added({}));
  });
  const prompt = definePrompt({ key: "add", sections: [{ key: "task", text: "Add.", tools: [add] }] });
  const model = scriptedModel([
    { toolCalls: [{ name: "add", arguments: {} }] },
    { toolCalls: [{ name: "add", arguments: {} }] },
    { text: "Done." },
  ]);
  const error = await modelAdapter(model, fakeEnvironment())
    .evaluate(prompt.bind(), { session, resources })
    .catch((rejected: unknown) => rejected);
  expect(error).toBeInstanceOf(RestoreError);
  const { code, faults, messages } = error as RestoreError;
  expect([code, faults.map(({ operation, callIds }) => [operation, callIds])]).toEqual([
    "restore",
    [["commit", ["call_1"]]],
  ]);
  expect(messages.at(-1)).toMatchObject({ isError: true, text: expect.stringMatching(/^Not run: .*committed/u) });
  expect(database.prepare("SELECT * FROM late").all()).toEqual([]);
  expect(() => session.get(count)).toThrow("the changes of the call of add (call_1) could not be committed");
});

test("TX-9 RES-6 a transaction that cannot be committed says why, and the session is unusable", async () => {
  const { database, resources, session } = await failing();
  await using _ = resources;
  const changing = transaction({ session, resources, tag: "import" }, async () => {
    resources.get(SqliteDatabase).run("INSERT INTO late VALUES (9)");
    session.dispatch(added({}));
  });
  await expect(changing).rejects.toThrow(/"import" could not be committed: .*FOREIGN KEY constraint failed/);
  expect(database.prepare("SELECT * FROM late").all()).toEqual([]);
  expect(() => session.get(count)).toThrow('"import" could not be committed');
});
