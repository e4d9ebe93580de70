import type { AnswerStep, SimulatedMessage, SimulatedRequest } from "@proviso/simulator";

type Call = NonNullable<AnswerStep["toolCalls"]>[number];

/** Stands in for a model: reads what was said last, calls one tool, and tells what came of it. */
export function simulatedAssistant({ messages }: SimulatedRequest): AnswerStep {
  const at = messages.findLastIndex(({ role }) => role === "user");
  const result = messages.slice(at).find(({ role }) => role === "tool");
  if (result !== undefined) return { text: told(result) };
  const call = callFor(messages[at]?.text ?? "");
  if (call === undefined) return { text: "I can add, list, rename, complete and delete tasks." };
  return { toolCalls: [call] };
}

const phrases: readonly (readonly [RegExp, (words: readonly string[]) => Call])[] = [
  [
    /^(?:please )?(?:add|remember|create):? (.*)/s,
    ([description]) => ({ name: "add_task", arguments: { description } }),
  ],
  [/^(?:list|show)(?: (pending|completed|all))?/, ([status]) => ({ name: "list_tasks", arguments: { status } })],
  [
    /^(?:rename|change|edit) (\S+) to (.*)/s,
    ([task_id, description]) => ({ name: "update_task", arguments: { task_id, description } }),
  ],
  [/^(?:done|finished|complete) (?:with )?(\S+)/, ([task_id]) => ({ name: "complete_task", arguments: { task_id } })],
  [/^(?:remove|delete) (\S+)/, ([task_id]) => ({ name: "delete_task", arguments: { task_id } })],
  // No such tool: it is told so, and goes on.
  [/^archive (\S+)/, ([task_id]) => ({ name: "archive_task", arguments: { task_id } })],
];

function callFor(said: string): Call | undefined {
  for (const [pattern, call] of phrases) {
    const match = pattern.exec(said);
    if (match !== null) return call(match.slice(1));
  }
  return undefined;
}

interface Task {
  readonly task_id: string;
  readonly description: string;
  readonly status: string;
}

function told({ text }: SimulatedMessage): string {
  const { tasks, ...task } = valueIn(text);
  if (tasks !== undefined) return tasks.length === 0 ? "There are no tasks." : tasks.map(line).join("\n");
  return task.task_id === undefined ? text : line(task as Task);
}

function valueIn(text: string): Partial<Task> & { readonly tasks?: readonly Task[] } {
  try {
    return JSON.parse(text) as ReturnType<typeof valueIn>;
  } catch {
    return {};
  }
}

function line({ task_id, description, status }: Task): string {
  return `${status === "completed" ? "[x]" : "[ ]"} ${task_id}. ${description}`;
}
