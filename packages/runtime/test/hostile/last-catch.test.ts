import {
  allow,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  isEvaluationFailure,
  parseMessages,
  provideFactory,
  resourceKey,
  type Schema,
} from "@proviso/core";
import { createSession, memoryOverrides, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { z } from "zod";
import { harms } from "./hostile.ts";

/** Which point does harm, at which of its uses, and how. */
interface Harm {
  readonly point: string;
  readonly use: number;
  readonly how: keyof typeof harms;
}

/** Every place of somebody else's code, counted. */
function places(harm: Harm | undefined) {
  const uses = new Map<string, number>();
  const at = <T>(point: string, honest: () => T): T => {
    const use = (uses.get(point) ?? 0) + 1;
    uses.set(point, use);
    return harm?.point === point && harm.use === use ? (harms[harm.how]?.() as T) : honest();
  };
  /** A field of a value: a promise in it is nobody's to look at. */
  const field = <T>(point: string, honest: () => T): T => {
    const value = at(point, honest);
    Promise.resolve()
      .then(() => value)
      .catch(() => {});
    return value;
  };
  return { uses, at, field };
}
type At = ReturnType<typeof places>["at"];

const noted = defineEvent("noted", z.object({ text: z.string() }));
const rowsKey = resourceKey<Rows>("rows");

interface Rows {
  rows: readonly string[];
  snapshot(): unknown;
  restore(snapshot: unknown): unknown;
  release(): unknown;
}

/** A schema that asks the harm at each validation. */
function schemaAt<T extends z.ZodType>(at: At, point: string, schema: T): T {
  const own = schema["~standard"] as unknown as Schema["~standard"];
  const standard = { ...own, validate: (value: unknown) => at(point, () => own.validate(value)) };
  return { "~standard": standard } as unknown as T;
}

function worldOf(harm: Harm | undefined) {
  const { uses, at, field } = places(harm);
  const table: Rows = {
    rows: [],
    snapshot: () => at("resource.snapshot", () => table.rows),
    restore: (rows) => at("resource.restore", () => void (table.rows = rows as readonly string[])),
    release: () => at("resource.release", () => {}),
  };
  const notes = defineSlice({
    name: "notes",
    initial: [] as readonly string[],
    reducers: ({ on }) => on(noted, (draft, { text }) => at("reducer", () => void draft.push(text))),
  });
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input: schemaAt(at, "input schema", z.object({ text: z.string(), fails: z.boolean().optional() })),
    execute: ({ text, fails }, { session, resources }) => {
      session.dispatch(noted({ text }));
      const rows = resources.get(rowsKey);
      rows.rows = [...rows.rows, text];
      if (fails === true) throw new Error("on purpose");
      return at("tool", () => Promise.resolve(`wrote ${text}`));
    },
  });
  const prompt = definePrompt({
    ns: "hostile",
    key: "prompt",
    params: z.object({ who: z.string() }),
    output: schemaAt(at, "output schema", z.object({ done: z.string() })),
    policies: [
      definePolicy({ name: "check", check: () => at("policy.check", () => allow()) }),
      definePolicy({ name: "approve", approve: () => at("policy.approve", () => allow()) }),
    ],
    feedback: [{ name: "reminder", every: { calls: 1 }, provide: () => at("feedback", () => "go on") }],
    completion: { name: "checker", check: () => at("completion", () => undefined) },
    sections: [
      {
        key: "guide",
        text: "Work for {{who}}.",
        summary: "Work.",
        textFrom: () => at("textFrom", () => undefined),
        enabled: () => at("enabled", () => true),
        visibility: () => at("visibility", () => "full" as const),
        tools: [write],
        slices: [notes],
        resources: [
          provideFactory(rowsKey, () => at("resource.create", () => table), {
            close: () => at("resource.close", () => {}),
          }),
        ],
      },
      { key: "request", text: "Begin.", role: "user" },
    ],
  });
  return { uses, at, field, table, notes, prompt };
}

type World = ReturnType<typeof worldOf>;

function adapterOf({ at, field }: World) {
  const script = scriptedModel([
    {
      toolCalls: [
        { name: "write", arguments: { text: "a" } },
        { name: "write", arguments: { text: "b", fails: true } },
      ],
    },
    { toolCalls: [{ name: "write", arguments: { text: "c" } }] },
    { output: { done: "yes, all of it" } },
  ]);
  const { clock, random, newId = () => "" } = fakeEnvironment(1);
  const log = () => at("logger", () => {});
  const model = {
    ...script,
    generate: async (request: Parameters<typeof script.generate>[0]) => {
      const answer = await script.generate(request);
      const message = "message" in answer && typeof answer.message === "object" ? answer.message : undefined;
      return at("model", () => ({
        ...answer,
        message: field("model.message", () => message),
        usage: field("model.usage", () => ({ inputTokens: 1, outputTokens: 1 })),
        payload: field("model.payload", () => ({ raw: true })),
        finishReason: field("model.finishReason", () => ("finishReason" in answer ? answer.finishReason : "stop")),
      }));
    },
  };
  return modelAdapter(model as never, {
    clock,
    random,
    newId: () => at("newId", newId),
    logger: { debug: log, info: log, warn: log, error: log },
    secrets: ["a-secret-of-somebody"],
  });
}

async function run(harm: Harm | undefined, isStreamed: boolean) {
  const world = worldOf(harm);
  const { at, notes, prompt, table } = world;
  const session = createSession({ slices: [notes] });
  const ends: string[] = [];
  let rendered = 0;
  session.on("*", (event) => {
    if (event.type === "prompt.rendered") rendered += 1;
    if (event.type === "prompt.executed" || event.type === "prompt.failed") ends.push(event.type);
    return at(`listener of ${event.type}`, () => {});
  });
  const store = memoryOverrides();
  const options = {
    session,
    overrides: { store: { ...store, resolve: () => at("overrides", () => Promise.resolve(undefined)) } },
    deadline: { expiresAt: new Date(4e12), remainingMs: () => at("deadline", () => 60_000) },
  };
  const adapter = adapterOf(world);
  const bound = prompt.bind({ who: "us" });
  const outcome = await (isStreamed ? streamed(adapter, bound, options) : adapter.evaluate(bound, options)).then(
    (response) => ({ response, error: undefined }),
    (error: unknown) => ({ response: undefined, error }),
  );
  return { ...outcome, ends, rendered, rows: table.rows, uses: world.uses, state: usableState(session, notes) };
}

function usableState(session: ReturnType<typeof createSession>, notes: World["notes"]): readonly string[] | undefined {
  try {
    return session.get(notes);
  } catch {
    return undefined;
  }
}

async function streamed(
  adapter: ReturnType<typeof adapterOf>,
  prompt: ReturnType<World["prompt"]["bind"]>,
  options: Parameters<ReturnType<typeof adapterOf>["stream"]>[1],
) {
  const stream = adapter.stream(prompt, options);
  let thrown: unknown;
  try {
    for await (const _ of stream);
  } catch (error) {
    thrown = error;
  }
  const response = stream.response;
  if (thrown !== undefined) await expect(response).rejects.toBe(thrown);
  return response;
}

function check(harm: Harm, { error, response, ends, rendered, rows, state }: Awaited<ReturnType<typeof run>>): void {
  const about = JSON.stringify(harm);
  if (error !== undefined && !isEvaluationFailure(error)) throw new Error(`${about}: it is raw`);
  // A listener that throws on the last event has been given it: no other follows.
  expect(ends, about).toHaveLength(rendered > 0 ? 1 : 0);
  const told = error?.toolResults ?? response?.toolResults ?? [];
  const done = told.filter(({ result }) => result.success).map(({ params }) => (params as { text: string }).text);
  const messages = error?.messages ?? response?.messages ?? [];
  expect(parseMessages(messages), about).toHaveLength(messages.length);
  expect(Number.isSafeInteger((error ?? response)?.usage.totalTokens), about).toBe(true);
  // A restore that fails, or a snapshot that is none, is a fault of the resource: the session is unusable then.
  if (harm.point.startsWith("resource.") || state === undefined) return;
  expect(rows, about).toEqual(done);
  if (harm.point !== "reducer") expect(state, about).toEqual(done);
}

const unhandled: unknown[] = [];
const note = (error: unknown): void => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));

const honest = await run(undefined, true);

describe("ERR-7 an unexpected error is a failed result or an evaluation failure", () => {
  test("ERR-7 without harm it ends well, and every point is used", () => {
    expect(honest.error).toBeUndefined();
    expect(honest.rows).toEqual(["a", "c"]);
    expect(honest.state).toEqual(["a", "c"]);
    expect([...honest.uses.keys()].toSorted()).toMatchSnapshot();
  });

  const points = [...honest.uses].map(([point, count], place) => ({ point, count, place }));
  test.each(points)("ERR-7 at $point", async ({ point, count, place }) => {
    // Each harm, or a fifth of them, at one of the point's uses, streamed or not: other ones for the next point.
    for (const [turn, how] of Object.keys(harms).entries()) {
      if (!inject("exhaustive") && (turn + place) % 5 !== 0) continue;
      const harm = { point, use: 1 + ((turn + place) % count), how };
      check(harm, await run(harm, (turn + place) % 3 === 0));
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(unhandled).toEqual([]);
  });
});
