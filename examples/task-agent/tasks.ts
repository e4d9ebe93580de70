import { defineEvent, defineSlice, defineTool, toolError, toolOk, type ToolContext } from "@proviso/core";
import { SqliteDatabase } from "@proviso/node";
import { z } from "zod";

/** Scripts for `sqliteResource`: tasks, and the chat's own conversation beside them. */
export const schema: readonly string[] = [
  // A number that was a task's is never another's.
  `CREATE TABLE tasks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    description TEXT NOT NULL CHECK (description <> ''),
    status TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'completed'))
  ) STRICT`,
  `CREATE TABLE conversation (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    messages TEXT NOT NULL,
    session TEXT NOT NULL
  ) STRICT`,
];

const changed = defineEvent("task.changed", z.object({ change: z.enum(["added", "updated", "completed", "deleted"]) }));
type Change = "added" | "updated" | "completed" | "deleted";

/** How many changes of each kind this conversation has made: undone with the call, as the database is. */
export const tally = defineSlice({
  name: "tally",
  initial: { added: 0, updated: 0, completed: 0, deleted: 0 } as Readonly<Record<Change, number>>,
  reducers: ({ on }) => on(changed, (draft, { change }) => void (draft[change] += 1)),
});

interface Row {
  readonly id: number;
  readonly description: string;
  readonly status: "pending" | "completed";
}

const longest = 1_000;

/** The limits are checked and not printed: the model is sent the document's own schema. */
function description(text: string) {
  return z
    .string()
    .refine((given) => given !== "", "it is empty: 1 to 1000 characters are allowed")
    .refine((given) => Array.from(given).length <= longest, "it is too long: 1 to 1000 characters are allowed")
    .describe(text);
}

export const addTask = defineTool({
  name: "add_task",
  description: "Create a new task. Use when user wants to add, create, or remember something.",
  input: z.object({ description: description("Task description") }),
  execute: ({ description: text }, context) =>
    change(context, "added", "INSERT INTO tasks (description) VALUES (?) RETURNING *", text),
});

export const listTasks = defineTool({
  name: "list_tasks",
  description: "Get user's tasks. Use when user wants to see, view, or list their tasks.",
  input: z.object({
    status: z.enum(["pending", "completed", "all"]).describe("Filter by status (default: all)").optional(),
  }),
  readOnly: true,
  execute({ status = "all" }, { resources }) {
    const sql = "SELECT * FROM tasks WHERE ?1 = 'all' OR status = ?1 ORDER BY id";
    return { tasks: resources.get(SqliteDatabase).all<Row>(sql, status).map(toTask) };
  },
});

export const updateTask = defineTool({
  name: "update_task",
  description: "Update a task's description. Use when user wants to change, edit, or rename a task.",
  input: z.object({
    task_id: z.string().describe("Task ID to update"),
    description: description("New description"),
  }),
  execute: ({ task_id, description: text }, context) =>
    changeOne(context, "updated", task_id, "UPDATE tasks SET description = ?2 WHERE id = ?1 RETURNING *", text),
});

export const completeTask = defineTool({
  name: "complete_task",
  description: "Mark a task as completed. Use when user says done, finished, or completed.",
  input: z.object({ task_id: z.string().describe("Task ID to complete") }),
  execute: ({ task_id }, context) =>
    changeOne(context, "completed", task_id, "UPDATE tasks SET status = 'completed' WHERE id = ?1 RETURNING *"),
});

export const deleteTask = defineTool({
  name: "delete_task",
  description: "Delete a task permanently. Use when user wants to remove or delete a task.",
  input: z.object({ task_id: z.string().describe("Task ID to delete") }),
  execute: ({ task_id }, context) =>
    changeOne(context, "deleted", task_id, "DELETE FROM tasks WHERE id = ?1 RETURNING *"),
});

export const taskTools = [addTask, listTasks, updateTask, completeTask, deleteTask] as const;

function change(context: ToolContext, kind: Change, sql: string, ...parameters: readonly (number | string)[]) {
  const row = context.resources.get(SqliteDatabase).get<Row>(sql, ...parameters);
  if (row === undefined) return undefined;
  context.session.dispatch(changed({ change: kind }));
  return toTask(row);
}

function changeOne(context: ToolContext, kind: Change, id: string, sql: string, ...rest: readonly string[]) {
  const row = /^[1-9]\d{0,14}$/.test(id) ? change(context, kind, sql, Number(id), ...rest) : undefined;
  return row === undefined
    ? toolError(`There is no task ${JSON.stringify(id)}. Call list_tasks for the IDs.`)
    : toolOk(row);
}

function toTask({ id, description: text, status }: Row) {
  return { task_id: String(id), description: text, status };
}
