import { definePrompt, definePolicy, deny, type Session, type Tool, type ToolContext } from "@proviso/core";
import { createSession, modelAdapter, openResources } from "@proviso/runtime";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { fakeEnvironment, invokeTool, scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, inject, test, vi } from "vitest";
import { schema, tally, taskTools } from "../tasks.ts";
import { anyCharacter } from "../../../packages/core/test/support/any-character.ts";

vi.setConfig({ testTimeout: 1_800_000 });

const sequences = inject("exhaustive") ? 10_000 : 120;
const seed = 20_261_121;

// What is called, and what goes wrong.

const ways = [
  "well",
  "throws before",
  "throws after",
  "fails after",
  "is vetoed",
  "is denied",
  "times out",
  "breaks out",
  "writes late",
] as const;
type Way = (typeof ways)[number];

interface Step {
  readonly name: string;
  readonly input: Readonly<Record<string, string>>;
  readonly way: Way;
  /** Run within the call, after its own work. */
  readonly inner: readonly Step[];
}

const description = fc.oneof(
  { weight: 8, arbitrary: fc.string({ unit: anyCharacter, minLength: 1, maxLength: 12 }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom("", "x".repeat(1_000), "x".repeat(1_001), "'; DROP TABLE tasks; --", "COMMIT"),
  },
);
const task_id = fc.oneof(
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 6 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom("0", "-1", "01", "x", "99999999999999999999") },
);
const call = fc.oneof(
  { weight: 4, arbitrary: fc.record({ name: fc.constant("add_task"), input: fc.record({ description }) }) },
  fc.record({ name: fc.constant("update_task"), input: fc.record({ task_id, description }) }),
  fc.record({ name: fc.constant("complete_task"), input: fc.record({ task_id }) }),
  fc.record({ name: fc.constant("delete_task"), input: fc.record({ task_id }) }),
  fc.record({
    name: fc.constant("list_tasks"),
    input: fc.record({ status: fc.constantFrom("pending", "completed", "all", "lost") }, { requiredKeys: [] }),
  }),
);
const way = fc.oneof({ weight: 2, arbitrary: fc.constant<Way>("well") }, fc.constantFrom(...ways));
// A nested evaluation has listeners, policies and time of the outer one.
const innerWay = fc.constantFrom<Way>("well", "well", "throws before", "throws after", "fails after", "breaks out");
const innerStep = fc
  .tuple(call, innerWay)
  .map(([{ name, input }, wrong]): Step => ({ name, input: input as Step["input"], way: wrong, inner: [] }));
const step = fc
  .tuple(call, way, fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, fc.array(innerStep, { maxLength: 3 })))
  .map(([{ name, input }, wrong, inner]): Step => ({ name, input: input as Step["input"], way: wrong, inner }));

// The model: what the tasks are, said as plainly as can be.

interface Model {
  readonly tasks: readonly { readonly id: number; readonly description: string; readonly status: string }[];
  readonly next: number;
  readonly tally: Readonly<Record<string, number>>;
}
const empty: Model = { tasks: [], next: 1, tally: { added: 0, updated: 0, completed: 0, deleted: 0 } };

/** undefined: the call fails. */
function own(model: Model, { name, input }: Step): Model | undefined {
  const { description: text = "x", task_id: id = "", status = "all" } = input;
  if (name === "list_tasks") return ["pending", "completed", "all"].includes(status) ? model : undefined;
  const characters = Array.from(text).length;
  if (characters < 1 || characters > 1_000) return undefined;
  const count = (kind: string) => ({ ...model.tally, [kind]: (model.tally[kind] ?? 0) + 1 });
  if (name === "add_task") {
    const task = { id: model.next, description: text, status: "pending" };
    return { tasks: [...model.tasks, task], next: model.next + 1, tally: count("added") };
  }
  if (!model.tasks.some((task) => String(task.id) === id)) return undefined;
  const others = model.tasks.filter((task) => String(task.id) !== id);
  if (name === "delete_task") return { ...model, tasks: others, tally: count("deleted") };
  const edit = name === "update_task" ? { description: text } : { status: "completed" };
  const tasks = model.tasks.map((task) => (String(task.id) === id ? { ...task, ...edit } : task));
  return { ...model, tasks, tally: count(name === "update_task" ? "updated" : "completed") };
}

/** A read-only call can have no inner one that changes something. */
function after(model: Model, given: Step, isReadOnly = false): Model | undefined {
  if (given.way !== "well" && given.way !== "breaks out" && given.way !== "writes late") return undefined;
  const done = own(model, given);
  if (done === undefined || (isReadOnly && given.name !== "list_tasks")) return undefined;
  const readOnly = isReadOnly || given.name === "list_tasks";
  return given.inner.reduce((state, inner) => after(state, inner, readOnly) ?? state, done);
}

// The real thing.

const late: (() => void)[] = [];

/** The tool, but it goes wrong this way. */
function spoilt({ name, way: wrong, inner }: Step): Tool {
  const tool = taskTools.find((each) => each.name === name) as Tool;
  const execute = async (input: unknown, context: ToolContext): Promise<unknown> => {
    if (wrong === "throws before") throw new Error("before");
    const result = await tool.execute(input, context);
    const database = context.resources.get(SqliteDatabase);
    if (wrong === "breaks out") {
      for (const sql of ["COMMIT", "/**/ end;", "SELECT 1; ROLLBACK", "SAVEPOINT x", "ATTACH ':memory:' AS other"]) {
        expect(() => database.exec(sql)).toThrow("refused");
      }
    }
    if (wrong === "writes late") late.push(() => database.run("DELETE FROM tasks"));
    for (const each of inner) await nested(each, context);
    if (wrong === "throws after") throw new Error("after");
    if (wrong === "times out") await new Promise(() => {});
    return wrong === "fails after" ? Promise.reject("a text") : result;
  };
  return { ...tool, execute, ...(wrong === "times out" ? { timeoutMs: 10 } : {}) };
}

async function nested(given: Step, context: ToolContext): Promise<void> {
  const tool = spoilt(given);
  const prompt = definePrompt({ key: "inner", sections: [{ key: "task", text: "Do it.", tools: [tool] }] });
  const model = scriptedModel([{ toolCalls: [{ name: tool.name, arguments: given.input }] }, { text: "Done." }]);
  await context.evaluate(prompt.bind(), { adapter: modelAdapter(model) });
}

const denies = definePolicy({ name: "denies", check: () => deny("Not today.") });

async function run(given: Step, session: Session, resources: Awaited<ReturnType<typeof openResources>>) {
  const environment = fakeEnvironment();
  const stop = session.on("tool.invoked", ({ result }) => {
    if (given.way === "is vetoed" && result.success) throw new Error("vetoed");
  });
  const options = { session, resources, policies: given.way === "is denied" ? [denies] : [], ...environment };
  const invoked = invokeTool(spoilt(given), given.input, options);
  if (given.way === "times out") await environment.clock.advance(10);
  const { result } = await invoked;
  stop();
  for (const write of late.splice(0)) expect(write).toThrow("is over");
  return result;
}

test(`AGT-3 ${sequences} random sequences of calls with random failures: the database is the model's after every call`, async () => {
  await using resources = await openResources([sqliteResource(":memory:", { migrate: schema })]);
  const database = resources.get(SqliteDatabase);
  const counts = new Map<string, number>();
  const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1);
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), async (steps) => {
    database.exec("DELETE FROM tasks; DELETE FROM sqlite_sequence");
    const session = createSession({ slices: [tally] });
    let model = empty;
    for (const given of steps) {
      const expected = after(model, given);
      const result = await run(given, session, resources);
      expect(result.success).toBe(expected !== undefined);
      model = expected ?? model;
      const rows = database.all("SELECT id, description, status FROM tasks ORDER BY id");
      expect(rows).toEqual(model.tasks);
      expect(database.get("SELECT seq FROM sqlite_sequence")).toEqual(
        model.next === 1 ? undefined : { seq: model.next - 1 },
      );
      expect(session.get(tally)).toEqual(model.tally);
      if (result.success && given.name === "list_tasks") {
        const { status = "all" } = given.input;
        const listed = model.tasks
          .filter((task) => status === "all" || task.status === status)
          .map(({ id }) => String(id));
        const { tasks } = result.value as { readonly tasks: readonly { readonly task_id: string }[] };
        expect(tasks.map((task) => task.task_id)).toEqual(listed);
      }
      count(result.success ? "succeeded" : "failed");
      count(given.way);
      for (const inner of given.inner) count(`inner ${inner.way}`);
    }
    count("sequences");
  });
  await fc.assert(property, { seed, numRuns: sequences });
  expect(counts.get("sequences")).toBe(sequences);
  for (const each of ways) expect(counts.get(each)).toBeGreaterThan(sequences / 20);
});
