import { allow, definePolicy, definePrompt, defineTool, type ToolContext, type ToolPolicy } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { sqliteResource, SqliteDatabase } from "@proviso/node";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { memoryDatabase, nested, schema, sqlTool, texts } from "./support.ts";

type Work = Parameters<typeof sqlTool>[1];
const count = (database: SqliteDatabase): unknown => database.get("SELECT count(*) FROM notes");
const insert = (database: SqliteDatabase): unknown => database.run("INSERT INTO notes (text) VALUES ('second')");

/** Two calls of a tool that does this; another connection is reading until the first one has ended. */
async function besideReader(work: Work, policies: readonly ToolPolicy[] = [], readOnly = false) {
  const folder = mkdtempSync(join(tmpdir(), "proviso-locks-"));
  const file = join(folder, "notes.db");
  const other = new DatabaseSync(file);
  try {
    other.exec(schema);
    other.exec("BEGIN");
    other.prepare("SELECT * FROM notes").all();
    const tool = { ...sqlTool("add", work, { readOnly }), uses: [SqliteDatabase] };
    const prompt = definePrompt({ key: "add", sections: [{ key: "task", text: "Add.", tools: [tool] }], policies });
    let turns = 0;
    const model = scriptedModel([
      { toolCalls: [{ name: "add", arguments: {} }] },
      () => {
        turns += 1;
        other.exec("COMMIT");
        return { toolCalls: [{ name: "add", arguments: {} }] };
      },
      { text: "Done." },
    ]);
    const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt.bind(), {
      resources: [sqliteResource(file)],
    });
    expect(turns).toBe(1);
    return { results: toolResults.map(({ result }) => result), rows: texts(other) };
  } finally {
    other.close();
    rmSync(folder, { recursive: true });
  }
}

const few = definePolicy({
  name: "few",
  uses: [SqliteDatabase],
  check(_call, { resources }) {
    count(resources.get(SqliteDatabase));
    return allow();
  },
});

test("RES-6 a policy's check that reads first locks readers out, too: the call fails there, and not at its commit", async () => {
  const { results, rows } = await besideReader(insert, [few]);
  expect(results).toMatchObject([
    { success: false, message: expect.stringMatching(/^The policy few failed: .*locked/u) },
    { success: true },
  ]);
  expect(rows).toEqual(["first", "second"]);
});

test("RES-6 so does a read-only evaluation inside the call that reads first", async () => {
  const work = async (database: SqliteDatabase, context: ToolContext): Promise<void> => {
    await nested(context, count, { readOnly: true });
    insert(database);
  };
  const { results, rows } = await besideReader(work);
  expect(results).toMatchObject([{ success: false, message: expect.stringContaining("locked") }, { success: true }]);
  expect(rows).toEqual(["first", "second"]);
});

test("RES-6 a call that only reads, with its policy, locks no connection out", async () => {
  const { results } = await besideReader(count, [few], true);
  expect(results).toMatchObject([{ success: true }, { success: true }]);
});

test("RES-5 TX-1 a database that a policy got to read is not written to by a handler that has not locked it", async () => {
  const database = memoryDatabase();
  let held: SqliteDatabase | undefined;
  const look = definePolicy({
    name: "look",
    uses: [SqliteDatabase],
    check(_call, { resources }) {
      held = resources.get(SqliteDatabase);
      return allow();
    },
  });
  const add = defineTool({
    name: "add",
    description: "Adds.",
    input: z.object({}),
    uses: [],
    execute() {
      expect(held?.get("SELECT count(*) AS count FROM notes")).toEqual({ count: 1 });
      if (held !== undefined) insert(held);
    },
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Add.", tools: [add] }], policies: [look] });
  const model = scriptedModel([{ toolCalls: [{ name: "add", arguments: {} }] }, { text: "Done." }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt.bind(), {
    resources: [sqliteResource(database)],
  });
  expect(toolResults[0]?.result.message).toMatch(/tried to change the database, which it has not locked/u);
  expect(texts(database)).toEqual(["first"]);
});
