// What an attempt that may begin again holds, and who waits for it.
import {
  allow,
  deny,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  guardedFor,
  provide,
  resourceKey,
  type Prompt,
  type ProviderAdapter,
  type Tool,
} from "@proviso/core";
import { createSession, createSnapshot, modelAdapter, openResources, transaction } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (all, { text }) => [...all, text]),
});

class Box {
  items: readonly string[] = [];
  snapshot(): readonly string[] {
    return this.items;
  }
  restore(items: readonly string[]): void {
    this.items = items;
  }
}
/** Refuses changes of readers by itself, so that a reader takes no snapshot of it. */
class GuardedBox extends Box {
  [guardedFor](): this {
    return this;
  }
}
const keys = { stock: resourceKey<Box>("Stock"), users: resourceKey<Box>("Users") };
type Name = keyof typeof keys;
const open = async () => {
  const boxes = { stock: new Box(), users: new GuardedBox() };
  const resources = await openResources([provide(keys.stock, boxes.stock), provide(keys.users, boxes.users)]);
  for (const key of Object.values(keys)) resources.get(key);
  return { ...boxes, resources };
};

/** Adds to a box, and to the notes. */
const adding = (name: Name): Tool =>
  defineTool({
    name,
    description: "Adds.",
    input: z.object({}),
    uses: [keys[name]],
    idempotent: true,
    execute(_, { callId, resources, session }) {
      const box = resources.get(keys[name]);
      box.items = [...box.items, callId];
      session.dispatch(noted({ text: callId }));
      return "added";
    },
  }) as Tool;
const look: Tool = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  readOnly: true,
  uses: [keys.stock],
  execute: (_, { resources }) => resources.get(keys.stock).items.length,
}) as Tool;

const output = z.object({ x: z.number() });
const promptOf = (key: string, tools: readonly Tool[]): Prompt<{ x: number }> =>
  definePrompt({ key, output, sections: [{ key: "s", text: "Do.", tools, slices: [notes] }] }).bind();
const call = (name: string, id: string, afterMs = 0): ScriptedStep => ({
  toolCalls: [{ name, arguments: {}, id }],
  afterMs,
});
const good: ScriptedStep = { text: '{"x":1}' };
const bad: ScriptedStep = { text: "I do not know." };

function world() {
  const env = fakeEnvironment(1);
  const model = (steps: readonly ScriptedStep[]): ProviderAdapter => modelAdapter(scriptedModel(steps, env), env);
  const chain = (first: readonly ScriptedStep[], second: readonly ScriptedStep[] = []): ProviderAdapter =>
    fallback([model(first), model(second)], { on: ["output"] });
  const until = async <T>(work: Promise<T>): Promise<T> => {
    let isOver = false;
    const end = (): void => void (isOver = true);
    work.then(end, end);
    for (let step = 0; step < 200 && !isOver; step++) await env.clock.advance(100);
    return isOver ? work : Promise.reject(new Error("It hangs."));
  };
  return { env, model, chain, until };
}

test("RTE-8 evaluations without tools overlap over one session, though each may begin again", async () => {
  const { env, chain, until } = world();
  const startedAt = env.clock.now();
  const session = createSession({ slices: [notes] });
  const rows = Array.from({ length: 8 }, () => chain([{ ...bad, afterMs: 1_000 }], [{ ...good, afterMs: 1_000 }]));
  await until(Promise.all(rows.map((row) => row.evaluate(promptOf("row", []), { session }))));
  expect(env.clock.now() - startedAt).toBeLessThan(3_000);
});

test("RTE-8 TX-11 one that waits for an approval, or has only read, keeps none of a resource from others", async () => {
  const { env, chain, model, until } = world();
  const { resources, stock } = await open();
  const startedAt = env.clock.now();
  const person = definePolicy({
    name: "person",
    check: () => allow(),
    async approve() {
      await env.clock.sleep(5_000);
      return allow();
    },
  });
  const [session, other] = [createSession({ slices: [notes] }), createSession({ slices: [notes] })];
  const asking = chain([call("look", "a0"), call("stock", "a1"), bad], [call("look", "a2"), good]);
  const options = { session, resources, policies: [{ ...person, tools: [adding("stock")] }] };
  const first = asking.evaluate(promptOf("first", [look, adding("stock")]), options);
  const second = model([call("stock", "b", 1_000), good]).evaluate(promptOf("second", [adding("stock")]), {
    session: other,
    resources,
  });
  await until(second);
  expect(env.clock.now() - startedAt).toBeLessThan(2_000);
  expect(await until(first)).toMatchObject({ output: { x: 1 } });
  // What the other one did meanwhile stands, and what the attempt did is undone.
  expect([stock.items, session.get(notes), other.get(notes)]).toEqual([["b"], [], ["b"]]);
});

test("RTE-8 TX-11 from its first change it holds what its tools may change, and no other resource", async () => {
  const { chain, model, until } = world();
  const { resources, stock, users } = await open();
  const order: string[] = [];
  const of = async (name: string, adapter: ProviderAdapter, tools: readonly Tool[]): Promise<void> => {
    await adapter.evaluate(promptOf(name, tools), { session: createSession({ slices: [notes] }), resources });
    order.push(name);
  };
  await until(
    Promise.all([
      of("slow", chain([call("stock", "a"), { ...bad, afterMs: 4_000 }], [good]), [adding("stock")]),
      of("same", model([call("stock", "b", 500), good]), [adding("stock")]),
      of("other", model([call("users", "c", 500), good]), [adding("users")]),
    ]),
  );
  expect([order[0], stock.items, users.items]).toEqual(["other", ["b"], ["c"]]);
});

test("RTE-8 TX-12 attempts that use the same resources in opposite orders wait, and none is refused", async () => {
  const { chain, until } = world();
  const { resources, stock, users } = await open();
  const tools = [adding("stock"), adding("users")];
  const both = (["stock", "users"] as const).map((name, at, names) => {
    const steps = [call(name, `${at}a`), call(names[1 - at] as Name, `${at}b`, 500), good];
    return chain(steps).evaluate(promptOf(`p${at}`, tools), { session: createSession({ slices: [notes] }), resources });
  });
  const answers = await until(Promise.all(both));
  expect(answers.flatMap(({ toolResults }) => toolResults.map(({ result }) => result.success))).toEqual(
    Array.from({ length: 4 }, () => true),
  );
  expect([stock.items.length, users.items.length]).toEqual([2, 2]);
});

test("RTE-8 TX-12 calls that each evaluate a prompt without tools need nothing of each other", async () => {
  const { env, chain, model, until } = world();
  const { resources } = await open();
  const one = async (name: Name): Promise<readonly boolean[]> => {
    const classify = defineTool({
      name,
      description: "Classifies.",
      input: z.object({}),
      uses: [keys[name]],
      async execute(_, { evaluate }) {
        await env.clock.sleep(10);
        return (await evaluate(promptOf("classify", []), { adapter: chain([bad], [{ ...good, afterMs: 100 }]) }))
          .output;
      },
    }) as Tool;
    const adapter = model([call(name, "c"), good]);
    const session = createSession({ slices: [notes] });
    const { toolResults } = await adapter.evaluate(promptOf(name, [classify]), { session, resources });
    return toolResults.map(({ result }) => result.success);
  };
  expect(await until(Promise.all([one("stock"), one("users")]))).toEqual([[true], [true]]);
});

test("RTE-8 TX-1 a resource that a policy reads, and an evaluation inside the call changes, is as before", async () => {
  const { chain, model, until } = world();
  const { resources, stock, users } = await open();
  const reading = definePolicy({
    name: "reading",
    uses: [keys.users],
    check: (_, context) => (context.resources.get(keys.users).items.length === 0 ? allow() : deny("taken")),
  });
  const inner = promptOf("inner", [adding("users")]);
  const deep = defineTool({
    name: "deep",
    description: "Evaluates.",
    input: z.object({}),
    uses: [keys.stock],
    idempotent: true,
    execute: async (_, { evaluate }) => (await evaluate(inner, { adapter: model([call("users", "in"), good]) })).output,
  }) as Tool;
  const adapter = chain([call("deep", "d1"), call("stock", "s1"), bad], [call("stock", "s2"), good]);
  const tools = [deep, adding("stock")];
  const session = createSession({ slices: [notes] });
  const prompt = definePrompt({
    key: "p",
    output,
    sections: [{ key: "s", text: "Do.", tools, slices: [notes], policies: [{ ...reading, tools: [deep] }] }],
  }).bind();
  const response = await until(adapter.evaluate(prompt, { session, resources }));
  expect(response.output).toEqual({ x: 1 });
  expect([stock.items, users.items, session.get(notes)]).toEqual([["s2"], [], ["s2"]]);
});

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => (error as { readonly code: string }).code,
  );

test("RTE-8 TX-12 what an approver, a checker or a model begins over what the attempt holds is refused at once", async () => {
  const { model, until } = world();
  const { resources } = await open();
  const session = createSession({ slices: [notes] });
  const scope = { session, resources };
  const seen: Record<string, string> = {};
  const beside = async (at: string): Promise<void> => {
    const evaluated = model([call("stock", "in"), good]).evaluate(promptOf("in", [adding("stock")]), scope);
    const asked = model([good]).evaluate(promptOf("q", []), scope);
    const all = [evaluated, asked, createSnapshot(scope), transaction(scope, async () => {})];
    seen[at] = (await Promise.all(all.map(codeOf))).join(" ");
  };
  const asking = definePolicy({
    name: "asking",
    async approve(_, { callId }) {
      await beside(`approve ${callId}`);
      return allow();
    },
  });
  const answering = modelAdapter({
    name: "m",
    model: "m",
    capabilities: { tools: true, nativeOutput: false },
    async generate() {
      await beside("model");
      return { message: { role: "assistant", text: '{"x":1}', toolCalls: [] }, finishReason: "stop" };
    },
  });
  const prompt = definePrompt({
    key: "p",
    output,
    sections: [{ key: "s", text: "Do.", tools: [adding("stock")], slices: [notes] }],
    completion: { name: "c", check: () => beside("checker").then(() => undefined) },
  }).bind();
  const down: ScriptedStep = { failure: "throttle", kind: "server_error", message: "503" };
  const adapter = fallback([model([call("stock", "c1"), call("stock", "c2"), down]), answering], {
    on: ["output", "server_error"],
  });
  await until(adapter.evaluate(prompt, { ...scope, policies: [asking] }));
  const refused = "deadlock ok deadlock deadlock";
  expect(seen).toEqual({
    // Nothing is changed yet, so nothing is held.
    "approve c1": "ok ok ok ok",
    "approve c2": refused,
    model: refused,
    checker: refused,
  });
});

test.each(["a listener", "an observer"])("RTE-8 what %s begins over the session waits for the attempt", async (who) => {
  const { model, until } = world();
  const session = createSession({ slices: [notes] });
  const { resources, stock } = await open();
  let begun: Promise<unknown> | undefined;
  const receive = (event: { readonly type: string; readonly callId?: string }): void => {
    if (event.type !== "tool.invoked" || event.callId !== "a") return;
    begun = model([call("stock", "b"), good]).evaluate(promptOf("title", [adding("stock")]), { session, resources });
  };
  if (who === "a listener") session.on("*", receive as never);
  const observers = who === "a listener" ? [] : [{ event: receive as never }];
  // What calls observers is loaded with the first one, in real time.
  await modelAdapter(scriptedModel([good]), { observers: [{ event: () => {} }] }).evaluate("Hi.");
  const adapters = [model([call("stock", "a"), { ...bad, afterMs: 1_000 }]), model([good])];
  const adapter = fallback(adapters, { on: ["output"], observers });
  await until(adapter.evaluate(promptOf("p", [adding("stock")]), { session, resources }));
  await until(begun as Promise<unknown>);
  expect([stock.items, session.get(notes)]).toEqual([["b"], ["b"]]);
});
