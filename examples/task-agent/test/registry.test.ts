import { definePrompt } from "@proviso/core";
import { modelAdapter, openResources } from "@proviso/runtime";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { invokeTool, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { closed, declarations } from "./declarations.ts";
import { addTask, schema, taskTools, updateTask } from "../tasks.ts";

test("AGT-1 the tools sent are exactly the document's five, and take no further key", async () => {
  const model = scriptedModel([{ text: "Hello." }]);
  const prompt = definePrompt({ key: "tools", sections: [{ key: "all", text: "Work.", tools: [...taskTools] }] });
  await modelAdapter(model).evaluate(prompt.bind());
  const sent = model.requests[0]?.tools.map(({ name, description, inputSchema: parameters, ...rest }) => {
    return { name, description, parameters, ...rest };
  });
  expect(sent).toEqual(closed(declarations));
});

const longest = "ä".repeat(999) + "😀";

test.each([
  ["", false],
  ["x", true],
  [" ", true],
  [longest, true],
  [`${longest}.`, false],
  ["a\0b 'quoted' -- \u{1F468}\u200D\u{1F469}", true],
])("AGT-2 a description has 1 to 1000 characters: %j", async (description, fits) => {
  await using resources = await openResources([sqliteResource(":memory:", { migrate: schema })]);
  const database = resources.get(SqliteDatabase);
  const added = await invokeTool(addTask, { description }, { resources });
  expect(added.result.success).toBe(fits);
  if (!fits) expect(added.result.message).toContain("1 to 1000 characters");
  expect(database.all("SELECT description FROM tasks")).toEqual(fits ? [{ description }] : []);
  await invokeTool(addTask, { description: "other" }, { resources });
  const task_id = fits ? "2" : "1";
  expect((await invokeTool(updateTask, { task_id, description }, { resources })).result.success).toBe(fits);
  const now = database.get("SELECT description FROM tasks WHERE id = ?", Number(task_id));
  expect(now).toEqual({ description: fits ? description : "other" });
});

test.each(["0", "-1", "9", "1.0", "01", " 1", "1e0", "1; DROP TABLE tasks", "9".repeat(400), "", "NaN"])(
  "AGT-2 the unknown ID %j gives a failed result, and nothing changes",
  async (task_id) => {
    await using resources = await openResources([sqliteResource(":memory:", { migrate: schema })]);
    await invokeTool(addTask, { description: "mine" }, { resources });
    for (const [tool, input] of [
      [updateTask, { task_id, description: "theirs" }],
      [taskTools[3], { task_id }],
      [taskTools[4], { task_id }],
    ] as const) {
      const { result } = await invokeTool(
        tool as typeof updateTask,
        input as { task_id: string; description: string },
        {
          resources,
        },
      );
      expect(result).toMatchObject({ success: false, message: expect.stringContaining("list_tasks") });
    }
    const rows = resources.get(SqliteDatabase).all("SELECT * FROM tasks");
    expect(rows).toEqual([{ id: 1, description: "mine", status: "pending" }]);
  },
);
