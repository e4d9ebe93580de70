import { defineTool, toolError } from "@proviso/core";
import { createSession, openResources } from "@proviso/runtime";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { invokeTool } from "@proviso/runtime/testing";
import { z } from "zod";

const completeAll = defineTool({
  name: "complete_all",
  description: "Marks all tasks as completed.",
  input: z.object({ atMost: z.number() }),
  execute({ atMost }, { resources }) {
    const { changes } = resources.get(SqliteDatabase).run("UPDATE tasks SET completed = 1 WHERE completed = 0");
    return changes > atMost ? toolError(`${changes} at once are too many.`) : `${changes} completed.`;
  },
});
const schema = "CREATE TABLE tasks (description TEXT, completed INTEGER DEFAULT 0)";
const tasks = "INSERT INTO tasks (description) VALUES ('buy milk'), ('call Ada')";
await using resources = await openResources([sqliteResource(":memory:", { migrate: [schema, tasks] })]);
for (const atMost of [1, 2]) {
  const { result } = await invokeTool(completeAll, { atMost }, { session: createSession(), resources });
  const open = resources.get(SqliteDatabase).get("SELECT count(*) AS n FROM tasks WHERE completed = 0")?.["n"];
  console.log(result.success ? result.value : `${result.message} Undone:`, open, "open.");
}
