import { definePrompt, defineTool, type Binding, type Resources, type ToolContext } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { SqliteDatabase } from "@proviso/node";
import { fakeEnvironment, invokeTool, scriptedModel } from "@proviso/runtime/testing";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";

type Work = (database: SqliteDatabase, context: ToolContext) => unknown;

/** A tool that does this with the database. */
export function sqlTool(name: string, work: Work, options: { readonly readOnly?: boolean } = {}) {
  return defineTool({
    name,
    description: "Works on the database.",
    input: z.object({}),
    ...options,
    execute: async (_, context) => (await work(context.resources.get(SqliteDatabase), context)) ?? null,
  });
}

/** One call that does this. */
export async function call(resources: readonly Binding[] | Resources, work: Work, readOnly = false) {
  return (await invokeTool(sqlTool("work", work, { readOnly }), {}, { resources })).result;
}

/** An evaluation inside the call, in which a tool does this. */
export async function nested(context: ToolContext, work: Work, options: { readonly readOnly?: boolean } = {}) {
  const prompt = definePrompt({
    key: "inner",
    sections: [{ key: "task", text: "Do it.", tools: [sqlTool("inner", work, options)] }],
  });
  const model = scriptedModel([{ toolCalls: [{ name: "inner", arguments: {} }] }, { text: "Done." }]);
  const adapter = modelAdapter(model, fakeEnvironment());
  const { toolResults } = await context.evaluate(prompt.bind(), { adapter });
  return toolResults[0]?.result;
}

/** All of a database: schema, rows, version. */
export function digest(database: DatabaseSync): string {
  const schema = database.prepare("SELECT type, name, sql FROM sqlite_schema ORDER BY name").all();
  const tables = schema.filter(({ type }) => type === "table").map(({ name }) => String(name));
  const rows = tables.map((name) => [name, database.prepare(`SELECT rowid, * FROM "${name}" ORDER BY rowid`).all()]);
  return JSON.stringify([schema, rows, database.prepare("PRAGMA user_version").get()]);
}

export const schema = `
  CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
  INSERT INTO notes (text) VALUES ('first');
`;

export function memoryDatabase(script = schema): DatabaseSync {
  const database = new DatabaseSync(":memory:");
  database.exec(script);
  return database;
}

export function texts(database: DatabaseSync): readonly unknown[] {
  return database
    .prepare("SELECT text FROM notes ORDER BY id")
    .all()
    .map(({ text }) => text);
}
