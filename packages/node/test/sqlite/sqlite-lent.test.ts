import { definePrompt, defineTool } from "@proviso/core";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { lentConnection } from "@proviso/node/internal";
import { modelAdapter, openResources } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import { z } from "zod";

/** A file that someone else keeps, and how long each transaction would have waited for a lock. */
function lender() {
  const database = new DatabaseSync(":memory:");
  const waits: number[] = [];
  let isOpen = false;
  const end = (sql: string): void => {
    if (isOpen) database.exec(sql);
    isOpen = false;
  };
  const connection = {
    database: () => database,
    isLent: () => isOpen,
    begin(busyTimeoutMs: number) {
      waits.push(busyTimeoutMs);
      database.exec("BEGIN IMMEDIATE");
      isOpen = true;
    },
    commit: () => end("COMMIT"),
    rollBack: () => end("ROLLBACK"),
    free: () => undefined,
  };
  return { waits, file: { [lentConnection]: connection } };
}

test("RES-6 EFF-7 of the resources in one file of a journal the longest busyTimeoutMs holds", async () => {
  const { waits, file } = lender();
  const put = defineTool({
    name: "put",
    description: "P",
    input: z.object({}),
    transactional: true,
    uses: [SqliteDatabase],
    execute: (_, { resources }) => void resources.get(SqliteDatabase).run("INSERT INTO rows VALUES (1)"),
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Put.", tools: [put] }] }).bind();
  const migrate = ["CREATE TABLE rows (n)"];
  await using _schema = await openResources([sqliteResource(file, { migrate })]);
  const call = { toolCalls: [{ name: "put" }] };
  for (const busyTimeoutMs of [5_000, 100]) {
    const model = scriptedModel([call, { text: "Put." }]);
    const { toolResults } = await modelAdapter(model).evaluate(prompt, {
      resources: [sqliteResource(file, { migrate, busyTimeoutMs })],
    });
    expect(toolResults).toMatchObject([{ result: { success: true } }]);
  }
  expect(waits).toEqual([50, 5_000, 5_000]);
});
