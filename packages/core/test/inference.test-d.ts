// Compiled by `pnpm typecheck`, never run.
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";
import {
  allow,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSection,
  defineSlice,
  type LogDraft,
  defineTool,
  Filesystem,
  isEvent,
  provide,
  provideFactory,
  resourceKey,
  type Session,
  toolError,
  toolOk,
  type EvaluationFailure,
  type FrameworkEvent,
  type CheckedText,
  type InputOf,
  type JsonSchema,
  type OutputOf,
  type ParamsOf,
  type PartialOutput,
  type PolicyCall,
  type PolicyParts,
  type Prompt,
  type PromptResponse,
  type PromptTemplate,
  type ProviderAdapter,
  type Schema,
  type SessionEvent,
  type Tool,
  type ToolContext,
  type ToolInvoked,
  type ToolResult,
  type UnknownPlaceholder,
  type UnprintablePlaceholder,
} from "@proviso/core";

const params = z.object({ request: z.string(), strict: z.boolean().default(false) });
const output = z.object({ summary: z.string(), issues: z.array(z.string()) });
const review = definePrompt({
  ns: "a",
  key: "b",
  params,
  output,
  sections: [{ key: "s", text: "{{request}} {{strict}}" }],
});
const plain = definePrompt({ ns: "a", key: "b", sections: [{ key: "s", text: "x" }] });
const readFile = defineTool({
  name: "read_file",
  description: "x",
  input: z.object({ path: z.string(), lines: z.number().default(10) }),
  execute: ({ path }) => ({ text: path }),
});
const count = defineTool({
  name: "count",
  description: "x",
  input: z.object({ word: z.string() }),
  execute: async () => 1,
});
const noted = defineEvent("noted", z.object({ path: z.string() }));
declare const adapter: ProviderAdapter;
declare const context: ToolContext;

describe("PRM-2 params and output", () => {
  test("PRM-2 are inferred without annotation", async () => {
    expectTypeOf<ParamsOf<typeof review>>().toEqualTypeOf<{ request: string; strict?: boolean | undefined }>();
    expectTypeOf<OutputOf<typeof review>>().toEqualTypeOf<{ summary: string; issues: string[] }>();
    const prompt = review.bind({ request: "x" });
    expectTypeOf(prompt).toEqualTypeOf<Prompt<{ summary: string; issues: string[] }>>();
    expectTypeOf<OutputOf<typeof prompt>>().toEqualTypeOf<{ summary: string; issues: string[] }>();
    const response = await adapter.evaluate(prompt);
    expectTypeOf(response.output.issues).toEqualTypeOf<string[]>();
    expectTypeOf<InputOf<typeof params>>().toEqualTypeOf<{ request: string; strict?: boolean | undefined }>();
    expectTypeOf<OutputOf<typeof params>>().toEqualTypeOf<{ request: string; strict: boolean }>();
  });

  test("PRM-2 a prompt without an output gives text, and asText does", async () => {
    expectTypeOf<OutputOf<typeof plain>>().toEqualTypeOf<string>();
    expectTypeOf(review.bind({ request: "x" }).asText()).toEqualTypeOf<Prompt<string>>();
    expectTypeOf((await adapter.evaluate(plain.bind({}))).output).toEqualTypeOf<string>();
  });

  test("PRM-2 a param that is missing, misspelt or of another type does not compile", () => {
    // @ts-expect-error missing
    review.bind({});
    // @ts-expect-error misspelt
    review.bind({ request: "x", strcit: true });
    // @ts-expect-error of another type
    review.bind({ request: 1 });
  });

  test("PRM-2 a bound prompt cannot be changed", () => {
    const prompt = review.bind({ request: "x" });
    // @ts-expect-error read-only
    prompt.params["request"] = "y";
    // @ts-expect-error read-only
    review.key = "c";
  });

  test("PRM-2 enabled and visibility see the params", () => {
    definePrompt({
      ns: "a",
      key: "b",
      params,
      sections: [
        {
          key: "s",
          enabled: (given) => {
            expectTypeOf(given).toEqualTypeOf<{ request: string; strict: boolean }>();
            return given.strict;
          },
        },
      ],
    });
  });
});

describe("PRM-15 a policy", () => {
  const policy = definePolicy({ name: "p", tools: [readFile], check: ({ input }) => (input.path ? allow() : allow()) });

  test("PRM-15 is what definePolicy makes, or an object of its form", () => {
    definePrompt({ key: "b", text: "x", policies: [policy] });
    definePrompt({
      key: "b",
      text: "x",
      policies: [
        {
          name: "p",
          check(call, given) {
            expectTypeOf(call).toEqualTypeOf<PolicyCall>();
            expectTypeOf(given).toEqualTypeOf<ToolContext>();
            return allow();
          },
        },
        { name: "q", unknown: () => undefined },
      ],
    });
    expectTypeOf(policy.check).toEqualTypeOf<PolicyParts["check"]>();
  });

  test("PRM-15 that is a function, a factory that was not called or a misspelt object does not compile", () => {
    const factory = (name: string): typeof policy => definePolicy({ name, check: () => allow() });
    // @ts-expect-error a function
    definePrompt({ key: "b", text: "x", policies: [() => allow()] });
    // @ts-expect-error a factory that was not called
    definePrompt({ key: "b", text: "x", policies: [factory] });
    // @ts-expect-error without check, approve and unknown
    definePrompt({ key: "b", text: "x", policies: [{ name: "p" }] });
    // @ts-expect-error misspelt
    definePrompt({ key: "b", text: "x", policies: [{ name: "p", chek: () => allow() }] });
    // @ts-expect-error in a section
    definePrompt({ key: "b", sections: [{ key: "s", text: "x", policies: [() => allow()] }] });
    // @ts-expect-error of an evaluation
    void adapter.evaluate("x", { policies: [factory] });
    // @ts-expect-error a checker that is a function
    definePrompt({ key: "b", text: "x", completion: () => "x" });
  });
});

describe("PRM-3 placeholders", () => {
  test("PRM-3 known ones compile, spaced, escaped or many", () => {
    definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text: "{{request}}{{ strict }} \\{{nmae}}" }] });
    definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text: "x" as string }] });
  });

  test("PRM-3 a misspelt one does not compile: text, summary, nested children", () => {
    // @ts-expect-error in a text
    definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text: "{{request}} {{nmae}}" }] });
    // @ts-expect-error in a summary
    definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", text: "x", summary: "{{nmae}}" }] });
    definePrompt({
      ns: "a",
      key: "b",
      params,
      // @ts-expect-error in a nested text
      sections: [{ key: "s", children: [{ key: "c", children: [{ key: "d", text: "{{nmae}}" }] }] }],
    });
    definePrompt({
      ns: "a",
      key: "b",
      params,
      sections: [
        { key: "s", text: "{{request}}" },
        // @ts-expect-error in the second section
        { key: "t", text: "{{nmae}}" },
      ],
    });
    // @ts-expect-error where there are no params
    definePrompt({ ns: "a", key: "b", sections: [{ key: "s", text: "{{request}}" }] });
  });

  const odd = z.object({
    list: z.array(z.string()),
    maybe: z.string().optional(),
    count: z.number().optional(),
    nothing: z.string().nullable(),
    big: z.bigint(),
  });
  type Known = keyof z.output<typeof odd>;
  type Texts = "maybe" | "count" | "big";

  test("PRM-3 one that may be missing compiles: in a text, a summary, a child and a shared section", () => {
    definePrompt({ key: "b", params: odd, text: "{{big}} {{maybe}} {{count}}" });
    definePrompt({ key: "b", params: odd, sections: [{ key: "s", text: "{{maybe}}", summary: "{{count}}" }] });
    definePrompt({ key: "b", params: odd, sections: [{ key: "s", children: [{ key: "c", text: "{{maybe}}" }] }] });
    const shared = defineSection({ params: z.object({ maybe: z.string().optional() }), key: "s", text: "{{maybe}}" });
    definePrompt({ key: "b", params: odd, sections: [shared] });
    definePrompt({ key: "b", params: z.object({ maybe: z.string() }), sections: [shared] });
  });

  test("PRM-3 one that is no text does not compile, and the error names the real reason", () => {
    // @ts-expect-error an array
    definePrompt({ key: "b", params: odd, sections: [{ key: "s", text: "{{list}}" }] });
    // @ts-expect-error an array
    definePrompt({ key: "b", params: odd, text: "{{list}}" });
    // @ts-expect-error may be null
    definePrompt({ key: "b", params: odd, text: "{{nothing}}" });
    expectTypeOf<CheckedText<"{{maybe}} {{big}}", Texts, Known>>().toBeUnknown();
    expectTypeOf<CheckedText<"{{list}}", Texts, Known>>().toEqualTypeOf<UnprintablePlaceholder<"list">>();
    expectTypeOf<CheckedText<"{{list}} {{mayeb}}", Texts, Known>>().toEqualTypeOf<UnknownPlaceholder<"mayeb">>();
  });

  test("PRM-3 a misspelt property does not compile, nested or not", () => {
    // @ts-expect-error at the top
    definePrompt({ ns: "a", key: "b", sections: [{ key: "s", txet: "x" }] });
    // @ts-expect-error nested
    definePrompt({ ns: "a", key: "b", sections: [{ key: "s", children: [{ key: "c", txet: "x" }] }] });
    // @ts-expect-error of a shared section
    defineSection({ key: "s", txet: "x" });
  });
});

describe("PRM-5 a section that is there when a param is", () => {
  const trip = z.object({ city: z.string(), guide: z.string().optional() });

  test("PRM-5 it names the param; a name that is none does not compile, inline, nested or shared", () => {
    definePrompt({ key: "b", params: trip, sections: [{ key: "s", enabled: "guide", text: "{{guide}}" }] });
    definePrompt({ key: "b", params: trip, sections: [{ key: "s", children: [{ key: "c", enabled: "guide" }] }] });
    // @ts-expect-error misspelt
    definePrompt({ key: "b", params: trip, sections: [{ key: "s", enabled: "guied" }] });
    // @ts-expect-error misspelt in a child
    definePrompt({ key: "b", params: trip, sections: [{ key: "s", children: [{ key: "c", enabled: "guied" }] }] });
    // @ts-expect-error there are no params
    definePrompt({ key: "b", sections: [{ key: "s", enabled: "guide" }] });
    const shared = defineSection({ params: z.object({ guide: z.string().optional() }), key: "s", enabled: "guide" });
    definePrompt({ key: "b", params: trip, sections: [shared] });
    // @ts-expect-error misspelt in a shared section
    defineSection({ params: z.object({ guide: z.string().optional() }), key: "s", enabled: "guied" });
  });
});

describe("PRM-11 small programs", () => {
  test("PRM-11 a function over any template binds and evaluates it", () => {
    async function forEach<P, O>(template: PromptTemplate<P, O>, rows: readonly P[]): Promise<O[]> {
      const outputs: O[] = [];
      for (const row of rows) outputs.push((await adapter.evaluate(template.bind(row))).output);
      return outputs;
    }
    expectTypeOf(forEach(review, [{ request: "x" }])).toEqualTypeOf<Promise<{ summary: string; issues: string[] }[]>>();
    expectTypeOf(forEach(plain, [{}])).toEqualTypeOf<Promise<string[]>>();
    // @ts-expect-error of another type
    void forEach(review, [{ request: 1 }]);
    // @ts-expect-error where something is required, nothing given does not compile
    const nothing = <P, O>(template: PromptTemplate<P, O>) => template.bind();
    expectTypeOf(nothing).toBeFunction();
  });

  test("PRM-13 a text is a prompt that answers with text", async () => {
    expectTypeOf((await adapter.evaluate("Say hello.")).output).toEqualTypeOf<string>();
    expectTypeOf((await adapter.evaluate("Say hello.", { maxTurns: 1 })).output).toEqualTypeOf<string>();
    expectTypeOf((await adapter.stream("Say hello.").response).output).toEqualTypeOf<string>();
    expectTypeOf((await context.evaluate("Say hello.")).output).toEqualTypeOf<string>();
    // @ts-expect-error whatever the result is wanted as
    const counted: PromptResponse<number> = await adapter.evaluate("How many?");
    expectTypeOf(counted).toExtend<object>();
    // @ts-expect-error a template has to be bound
    void adapter.evaluate(review);
  });
});

describe("PRM-3 shared sections", () => {
  const shared = defineSection({
    params: z.object({ strict: z.boolean() }),
    key: "strict",
    text: "{{strict}}",
    enabled: ({ strict }) => strict,
  });

  test("PRM-3 a prompt with the section's params takes it; one that lacks a param does not compile", () => {
    definePrompt({ ns: "a", key: "b", params, sections: [shared] });
    definePrompt({ ns: "a", key: "b", params, sections: [{ key: "s", children: [shared] }] });
    // @ts-expect-error lacks strict
    definePrompt({ ns: "a", key: "b", params: z.object({ request: z.string() }), sections: [shared] });
    // @ts-expect-error has no params at all
    definePrompt({ ns: "a", key: "b", sections: [shared] });
  });

  test("PRM-3 its own texts are checked", () => {
    // @ts-expect-error in its text
    defineSection({ params: z.object({ strict: z.boolean() }), key: "s", text: "{{strcit}}" });
    defineSection({
      params: z.object({ strict: z.boolean() }),
      key: "s",
      // @ts-expect-error in a child
      children: [{ key: "c", text: "{{strcit}}" }],
    });
    // @ts-expect-error without params
    defineSection({ key: "s", text: "{{strict}}" });
  });
});

describe("TOOL-4 tools", () => {
  test("TOOL-4 a handler's input and a tool's value are inferred", () => {
    expectTypeOf(readFile).toEqualTypeOf<Tool<{ path: string; lines: number }, { text: string }>>();
    expectTypeOf(count).toEqualTypeOf<Tool<{ word: string }, number>>();
    defineTool({
      name: "t",
      description: "x",
      input: z.object({ n: z.number().default(1) }),
      execute(input, context) {
        expectTypeOf(input).toEqualTypeOf<{ n: number }>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        return toolOk(input.n);
      },
    });
    const noteTool = defineTool({
      name: "t",
      description: "x",
      input: z.object({ path: z.string() }),
      async execute({ path }) {
        if (path === "") return toolError("no path");
        return { noted: path };
      },
    });
    expectTypeOf(noteTool).toEqualTypeOf<Tool<{ path: string }, { noted: string }>>();
  });

  test("TOOL-4 an input that is no object, or a value that is not the output's, does not compile", () => {
    // @ts-expect-error no object
    defineTool({ name: "t", description: "x", input: z.string(), execute: () => 1 });
    // @ts-expect-error not the output's
    defineTool({ name: "t", description: "x", input: z.object({}), output: z.number(), execute: () => "x" });
  });

  test("TOOL-18 a tool of JSON Schema gets its arguments by their keys, and an object of schemas does not compile", () => {
    const schema: JsonSchema = { type: "object" };
    const known = defineTool({
      name: "t",
      description: "x",
      input: schema,
      output: { type: "number" },
      execute(input) {
        expectTypeOf(input).toEqualTypeOf<Readonly<Record<string, unknown>>>();
        return 1;
      },
    });
    expectTypeOf(known).toEqualTypeOf<Tool<Readonly<Record<string, unknown>>, number>>();
    defineTool({
      name: "t",
      description: "x",
      input: { type: "object", properties: {} },
      execute: ({ a }) => String(a),
    });
    // @ts-expect-error an object of schemas
    defineTool({ name: "t", description: "x", input: { a: z.string() }, execute: () => 1 });
  });

  test("TOOL-4 only toolOk and toolError make results", () => {
    // @ts-expect-error a look-alike
    const look: ReturnType<typeof toolError> = { success: false, message: "x" };
    expectTypeOf(look).not.toBeAny();
  });
});

describe("events", () => {
  test("isEvent narrows by name, by event and by tool", () => {
    const events: readonly SessionEvent[] = [];
    const [byName] = events.filter((event) => isEvent(event, "prompt.executed"));
    expectTypeOf(byName?.usage.totalTokens).toEqualTypeOf<number | undefined>();
    const [byEvent] = events.filter((event) => isEvent(event, noted));
    expectTypeOf(byEvent?.path).toEqualTypeOf<string | undefined>();
    const results: readonly ToolInvoked[] = [];
    const [byTool] = results.filter((event) => isEvent(event, readFile));
    expectTypeOf(byTool?.result).toEqualTypeOf<ToolResult<{ text: string }> | undefined>();
    if (byTool?.result.success === true) expectTypeOf(byTool.result.value.text).toEqualTypeOf<string>();
    if (byTool !== undefined && "path" in byTool.params) expectTypeOf(byTool.params.lines).toEqualTypeOf<number>();
  });

  test("OBS-8 ran tells the input of a tool from arguments that were rejected", () => {
    const narrow = (session: Session): void => {
      session.on(readFile, (event) => {
        if (event.ran) expectTypeOf(event.params.path).toEqualTypeOf<string>();
        // @ts-expect-error it may have been rejected
        else expectTypeOf(event.params.path).toEqualTypeOf<string>();
      });
      session.on(readFile, ({ ran, params }) => {
        if (ran) expectTypeOf(params.lines).toEqualTypeOf<number>();
        else if ("rawArguments" in params) expectTypeOf(params.error).toEqualTypeOf<string>();
        else expectTypeOf(params.lines).toEqualTypeOf<number>();
      });
    };
    expectTypeOf(narrow).toBeFunction();
  });

  test("evaluationId tells framework events from an application's", () => {
    const narrow = (event: SessionEvent): void => {
      if (event.evaluationId !== undefined) expectTypeOf(event).toEqualTypeOf<FrameworkEvent>();
    };
    expectTypeOf(narrow).toBeFunction();
  });

  test("EVT-7 among the framework's events, type narrows to one kind", () => {
    const narrow = (session: Session): void => {
      session.on("*", (event) => {
        expectTypeOf(event).toEqualTypeOf<SessionEvent>();
        // An application's event may have any name to the compiler: they are set apart first.
        if (event.evaluationId === undefined) return;
        if (event.type === "tool.invoked") expectTypeOf(event).toEqualTypeOf<ToolInvoked>();
      });
      session.on("tool.invoked", (event) => void expectTypeOf(event).toEqualTypeOf<ToolInvoked>());
      session.on(noted, ({ path }) => void expectTypeOf(path).toEqualTypeOf<string>());
      // @ts-expect-error no event type of the framework
      session.on("tool.invokd", () => {});
      // @ts-expect-error an application's event is named by what defineEvent returned
      session.on("noted", () => {});
    };
    expectTypeOf(narrow).toBeFunction();
  });

  test("PRM-16 a resource is provided under a key, and not under a text or a class", () => {
    const Stock = resourceKey<{ readonly count: number }>("Stock");
    provide(Stock, { count: 1 });
    // @ts-expect-error a text
    provide("Stock", { count: 1 });
    // @ts-expect-error a class
    provide(Map, new Map());
    // @ts-expect-error a text
    provideFactory("Stock", () => ({ count: 1 }));
    // @ts-expect-error another type of instance
    provide(Stock, { count: "1" });
  });

  test("an event's payload is checked", () => {
    expectTypeOf(noted({ path: "x" })).toEqualTypeOf<{ readonly type: "noted" } & Readonly<{ path: string }>>();
    // @ts-expect-error missing
    noted({});
    // @ts-expect-error no event type of the framework
    isEvent({}, "prompt.exectued");
  });

  test("an output that is still arriving is a deep partial", () => {
    expectTypeOf<PartialOutput<{ kind: "a" | "b"; list: { n: number }[] }>>().toEqualTypeOf<{
      readonly kind?: string;
      readonly list?: readonly { readonly n?: number }[];
    }>();
  });
});

describe("slices", () => {
  test("reducers get a draft of the state and the event's type", () => {
    defineSlice({
      name: "s",
      initial: [] as readonly { readonly path: string }[],
      reducers({ on }) {
        on(noted, (draft, event) => {
          expectTypeOf(draft).toEqualTypeOf<{ path: string }[]>();
          expectTypeOf(event.path).toEqualTypeOf<string>();
          draft.push({ path: event.path });
        });
        on("tool.invoked", (_draft, event) => void expectTypeOf(event).toEqualTypeOf<ToolInvoked>());
        on(readFile, (_draft, { result }) => {
          if (result.success) expectTypeOf(result.value).toEqualTypeOf<{ text: string }>();
        });
        // @ts-expect-error not the state's type
        on(noted, () => 1);
      },
    });
  });

  test("reducers of a log get a LogDraft of the entries; of a log that is no list, a draft of the state", () => {
    defineSlice({
      name: "log",
      kind: "log",
      initial: [] as readonly { readonly path: string }[],
      reducers({ on }) {
        on(noted, (draft, event) => {
          expectTypeOf(draft).toEqualTypeOf<LogDraft<{ readonly path: string }>>();
          draft.push({ path: event.path });
          // @ts-expect-error not an entry
          draft.push(1);
          // @ts-expect-error a log's draft is no list
          draft.sort();
          return draft.entries.slice(1);
        });
      },
    });
    defineSlice({
      name: "texts",
      kind: "log",
      initial: { texts: "" },
      reducers: ({ on }) => on(noted, (draft) => void expectTypeOf(draft).toEqualTypeOf<{ texts: string }>()),
    });
  });

  test("a draft has no place for a Date", () => {
    defineSlice({
      name: "s",
      initial: { at: undefined as Date | string | undefined, byName: new Map<string, { readonly n: number }>() },
      reducers({ on }) {
        on(noted, (draft) => {
          expectTypeOf(draft).toEqualTypeOf<{ at: string | undefined; byName: Map<string, { n: number }> }>();
          // @ts-expect-error not a time as a text
          draft.at = new Date();
        });
      },
    });
  });

  test("the schema and the initial state have to agree", () => {
    const typed = defineSlice({ name: "s", schema: z.array(z.string()).readonly(), initial: [] });
    expectTypeOf(typed.initial).toEqualTypeOf<readonly string[]>();
  });
});

describe("policies", () => {
  test("a policy's input is typed by the tools that it watches", () => {
    definePolicy({
      name: "p",
      tools: [readFile],
      check(call) {
        expectTypeOf(call.input).toEqualTypeOf<{ path: string; lines: number }>();
        return allow();
      },
    });
    definePolicy({
      name: "p",
      tools: [readFile, count],
      check(call) {
        expectTypeOf(call).toEqualTypeOf<PolicyCall<typeof readFile> | PolicyCall<typeof count>>();
        return "path" in call.input ? { allowed: true, input: { path: "x" } } : allow();
      },
    });
    definePolicy({
      name: "p",
      check(call) {
        expectTypeOf(call.input).toEqualTypeOf<unknown>();
        return allow();
      },
    });
  });
});

describe("resources", () => {
  test("an instance has the type of its key", () => {
    const key = resourceKey<{ readonly n: number }>("n");
    provide(key, { n: 1 });
    // @ts-expect-error of another type
    provide(key, { n: "1" });
  });
});

describe("ERR-1 failures", () => {
  test("ERR-1 a switch over code is exhaustive and narrows", () => {
    const told = (error: EvaluationFailure): string | number => {
      switch (error.code) {
        case "throttled":
          return error.retryAfterMs ?? error.kind;
        case "provider":
          return error.status ?? error.reason;
        case "output":
          return error.issues.length;
        case "deadline":
          return error.expiresAt.getTime();
        case "budget":
          return error.dimension;
        case "listener":
          return error.response.promptName;
        case "process":
          return error.exitCode ?? error.stderr;
        case "restore":
          return error.faults[0]?.operation ?? error.message;
        case "internal":
          return error.message;
        case "deadlock":
          return error.heldBy;
        case "run":
          return error.divergence?.path ?? error.reason;
        case "option":
          return error.option ?? error.message;
        case "render":
        case "turns":
        case "aborted":
          return error.usage.totalTokens;
      }
    };
    expectTypeOf(told).returns.toEqualTypeOf<string | number>();
  });
});

test("TOOL-13 a tool's context offers what it declares, with its types, and nothing else", () => {
  const Count = resourceKey<{ value: number }>("Count");
  const Name = resourceKey<string>("Name");
  defineTool({
    name: "t",
    description: "d",
    input: z.object({ a: z.number() }),
    uses: [Count, Filesystem],
    execute({ a }, { resources }) {
      expectTypeOf(a).toEqualTypeOf<number>();
      expectTypeOf(resources.get(Count)).toEqualTypeOf<{ value: number }>();
      expectTypeOf(resources.find(Filesystem)).toEqualTypeOf<Filesystem | undefined>();
      expectTypeOf(resources.open(Count)).toEqualTypeOf<Promise<{ value: number }>>();
      // @ts-expect-error it is not declared
      resources.get(Name);
      return 1;
    },
  });
  const plain = defineTool({
    name: "t",
    description: "d",
    input: z.object({}),
    execute: (_, { resources }) => resources.get(Name),
  });
  expectTypeOf(plain).toExtend<Tool<object, string>>();
  defineTool({
    name: "t",
    description: "d",
    input: z.object({}),
    uses: [],
    execute(_, { resources }) {
      // @ts-expect-error it uses nothing
      resources.get(Name);
    },
  });
});

test("PRM-14 a Schema is what Standard Schema and Standard JSON Schema say, in both directions", () => {
  type Standard<I, O> = StandardSchemaV1<I, O> & StandardJSONSchemaV1<I, O>;
  expectTypeOf<Standard<string, Date>>().toExtend<Schema<string, Date>>();
  expectTypeOf<Schema<string, Date>>().toExtend<Standard<string, Date>>();
  expectTypeOf<Standard<string, number>>().not.toExtend<Schema<string, Date>>();
});
