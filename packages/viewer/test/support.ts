// Random evaluations for the journal, with the state of their session at every event.
import {
  defineEvent,
  definePrompt,
  defineSection,
  defineSlice,
  defineTool,
  type Message,
  type RunRecord,
  type Session,
  type Slice,
} from "@proviso/core";
import type { Journal } from "@proviso/journal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import fc from "fast-check";
import { z } from "zod";

export const noted = defineEvent("noted", z.object({ text: z.string() }));
/** Dispatched inside a call: a slice that reduces events of the framework, too, may have seen both in another order. */
const kept = defineEvent("kept", z.object({ text: z.string() }));
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on("tool.requested", (draft, { name }) => void draft.push(`asked ${name}`));
    on("tool.invoked", (draft, { name }) => void draft.push(`ended ${name}`));
  },
});
const counts = defineSlice({
  name: "counts",
  initial: {} as Readonly<Record<string, number>>,
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void (draft[text] = (draft[text] ?? 0) + 1));
    on(kept, (draft, { text }) => void (draft[text] = (draft[text] ?? 0) + 1));
  },
});
const trail = defineSlice({
  name: "trail",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on("tool.requested", (log, { name }) => log.push(`asked ${name}`));
    on("tool.invoked", (log, { name }) => log.push(`ended ${name}`));
  },
});
export const slices: readonly Slice[] = [notes, counts, trail];

type ToolName = "write" | "look" | "evaluate" | "fail" | "deep" | "unknown" | "wrong";
export interface RandomRun {
  readonly turns: readonly {
    readonly throttles: number;
    readonly calls: readonly { readonly tool: ToolName; readonly id: string | undefined }[];
    readonly text: string;
  }[];
  readonly isStreamed: boolean;
  readonly denies: boolean;
  readonly vetoes: boolean;
  readonly maxTurns: number;
  readonly budget: number | undefined;
}

export const randomRun: fc.Arbitrary<RandomRun> = fc.record({
  turns: fc.array(
    fc.record({
      throttles: fc.integer({ min: 0, max: 1 }),
      calls: fc.array(
        fc.record({
          tool: fc.constantFrom("write", "write", "look", "evaluate", "fail", "deep", "unknown", "wrong"),
          id: fc.constantFrom(undefined, "c1", "c2", "c3"),
        }),
        { maxLength: 4 },
      ),
      text: fc.string(),
    }),
    { maxLength: 4 },
  ),
  isStreamed: fc.boolean(),
  denies: fc.boolean(),
  vetoes: fc.boolean(),
  maxTurns: fc.integer({ min: 2, max: 8 }),
  budget: fc.option(fc.integer({ min: 20, max: 200 }), { nil: undefined }),
});

/** Whether an open call has dispatched: the record has that only when the call ends. */
interface Moment {
  isAhead: boolean;
}

function prompt(moment: Moment) {
  const input = z.object({ n: z.number() });
  const inner = definePrompt({
    ns: "test",
    key: "inner",
    params: z.object({}),
    sections: [
      defineSection({
        key: "task",
        text: "Write something.",
        tools: [
          defineTool({
            name: "note",
            description: "Notes.",
            input,
            execute({ n }, { session }) {
              moment.isAhead = true;
              session.dispatch(kept({ text: `inside ${n}` }));
              if (n === 1) throw new Error("Not one.");
              return n;
            },
          }),
        ],
      }),
    ],
  });
  const tools = [
    defineTool({
      name: "write",
      description: "Writes.",
      input,
      async execute({ n }, { session, progress }) {
        progress({ done: 1, message: "half" });
        session.dispatch(noted({ text: `wrote ${n}` }));
        if (n % 2 === 0) await Promise.resolve();
        return n;
      },
    }),
    defineTool({ name: "look", description: "Looks.", input, readOnly: true, execute: ({ n }) => n }),
    defineTool({
      name: "evaluate",
      description: "Evaluates.",
      input,
      readOnly: true,
      async execute({ n }, context) {
        const { text } = await context.evaluate(`Look at ${n}.`);
        return text;
      },
    }),
    defineTool({
      name: "fail",
      description: "Fails.",
      input,
      async execute({ n }, { session }) {
        session.dispatch(noted({ text: `never ${n}` }));
        throw new Error("It failed.");
      },
    }),
    defineTool({
      name: "deep",
      description: "Evaluates a prompt with tools, and may fail.",
      input,
      async execute({ n }, { evaluate }) {
        await evaluate(inner.bind({}));
        if (n % 2 === 1) throw new Error("Too deep.");
        return n;
      },
    }),
  ];
  return definePrompt({
    ns: "test",
    key: "random",
    params: z.object({}),
    slices,
    sections: [defineSection({ key: "task", text: "Do something.", tools })],
  }).bind({});
}

function modelOf({ turns }: RandomRun) {
  const throttled = new Map<number, number>();
  const answer = (({ messages }: { readonly messages: readonly Message[] }): ScriptedStep => {
    const first = messages.map(({ text }) => text).join("\n");
    const asked = messages.filter(({ role }) => role === "assistant").length;
    if (first.startsWith("Look at")) return { text: "Seen." };
    if (first.startsWith("Write something.")) {
      if (asked === 1) return { text: "Written." };
      return { toolCalls: [0, 1, 2].map((n) => ({ name: "note", arguments: { n } })) };
    }
    const turn = turns[asked];
    if (turn === undefined) return { text: "Done." };
    const refused = throttled.get(asked) ?? 0;
    throttled.set(asked, refused + 1);
    if (refused < turn.throttles)
      return { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 1 };
    if (turn.calls.length === 0) return { text: `So far ${asked}.` };
    const toolCalls = turn.calls.map(({ tool, id }, n) => ({
      name: tool === "unknown" ? "nothing" : tool === "wrong" ? "write" : tool,
      arguments: tool === "wrong" ? { m: 1 } : { n },
      ...(id === undefined ? {} : { id }),
    }));
    return { text: turn.text, toolCalls };
  }) as never;
  return scriptedModel(Array.from({ length: 80 }, () => answer));
}

/** The states of a session by name. */
export function statesOf(session: Session): Readonly<Record<string, unknown>> {
  return Object.fromEntries(session.slices().map((slice) => [slice.name, session.get(slice)]));
}

/** Evaluates with a session of its own; returns its states at every event that listeners received, by `seq`. */
export async function evaluated(random: RandomRun, journal: Journal, id = "r", seed = 1) {
  const session = createSession({ id: "s1", slices });
  session.dispatch(noted({ text: "before" }));
  const states = new Map<number, string>();
  const moment: Moment = { isAhead: false };
  session.on("*", (event) => {
    if (event.evaluationId === undefined) return;
    if (event.type === "tool.invoked" && event.parent === undefined) moment.isAhead = false;
    if (moment.isAhead) return;
    states.set(event.seq, JSON.stringify(statesOf(session)));
  });
  if (random.vetoes) {
    session.on("tool.invoked", ({ name, callId }) => {
      if (name === "write" && callId === "c2") throw new Error("Vetoed.");
    });
  }
  const { random: chance, newId } = fakeEnvironment(seed);
  let now = 1_000 * seed;
  const clock = { now: () => (now += 1), sleep: async (ms: number) => void (now += ms) };
  const adapter = modelAdapter(modelOf(random), { clock, random: chance, newId });
  const policies = random.denies
    ? [
        {
          name: "no",
          check: ({ input }: { readonly input: unknown }) =>
            JSON.stringify(input).includes("1")
              ? { allowed: false as const, reason: "Not one." }
              : { allowed: true as const },
        },
      ]
    : [];
  const options = {
    session,
    run: journal.run(id),
    maxTurns: random.maxTurns,
    policies: policies as never,
    ...(random.budget === undefined ? {} : { budget: { maxTotalTokens: random.budget } }),
  };
  const evaluating = async () => {
    if (!random.isStreamed) return adapter.evaluate(prompt(moment), options);
    const stream = adapter.stream(prompt(moment), options);
    for await (const _event of stream);
    return stream.response;
  };
  const outcome = await evaluating().catch((error: unknown) => error as Error);
  return { session, states, outcome };
}

export async function listed<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}

export type EventRecord = Extract<RunRecord, { readonly kind: "event" }>;
