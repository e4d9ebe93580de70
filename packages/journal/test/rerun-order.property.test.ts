// Random handlers that evaluate prompts side by side, in sequence and within one another; some are ended by a
// budget. Whatever order they came in, a replay comes to the same, and waits for nothing.
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  type ModelProvider,
  type ToolContext,
} from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import fc from "fast-check";
import { inject, it } from "vitest";
import { z } from "zod";
import { expectNoWait } from "./support.ts";

/** Steps of a handler, or an evaluation: the calls of each of its turns, as the steps that their handlers make. */
type Step =
  | { readonly kind: "sequence" | "together"; readonly steps: readonly Step[] }
  | {
      readonly kind: "evaluation";
      readonly turns: readonly (readonly Call[])[];
      readonly latencies: readonly number[];
      /** The most tokens of the evaluation; each of its answers is of 10. */
      readonly budget: number | undefined;
    };
interface Call {
  readonly tool: "note" | "peek";
  readonly waits: number;
  readonly inside: Step | undefined;
}

const { step } = fc.letrec<{ step: Step; call: Call }>((tie) => ({
  step: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant("evaluation" as const),
        turns: fc.array(fc.array(tie("call"), { minLength: 1, maxLength: 3 }), { maxLength: 3 }),
        latencies: fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 }),
        budget: fc.option(fc.constantFrom(1, 15, 40), { nil: undefined, freq: 5 }),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom<"sequence" | "together">("sequence", "together", "together"),
        steps: fc.array(tie("step"), { minLength: 1, maxLength: 3 }),
      }),
    },
  ),
  call: fc.record({
    tool: fc.constantFrom("note" as const, "note" as const, "peek" as const),
    waits: fc.integer({ min: 0, max: 3 }),
    inside: fc.option(tie("step"), { nil: undefined, freq: 4 }),
  }),
}));

const noted = defineEvent("noted", z.object({ what: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { what }) => void draft.push(what)),
});

/** Waits for a timer, or for promises alone. */
async function wait(milliseconds: number): Promise<void> {
  if (milliseconds > 0) await new Promise<void>((resolve) => setTimeout(resolve, milliseconds));
  else await Promise.resolve();
}

/** A prompt whose one call makes the steps, and the model that answers it. */
function programOf(steps: Step) {
  const evaluations: (Step & { readonly kind: "evaluation" })[] = [];
  const calls: Call[] = [];
  const numbers = new Map<object, number>();
  /** The number of an evaluation or a call: what a model says, and what is dispatched, has it. */
  const numberOf = <T extends object>(list: T[], of: T): number => {
    const known = numbers.get(of) ?? list.push(of) - 1;
    numbers.set(of, known);
    return known;
  };
  const number = z.object({ number: z.number() });
  const follow = async (of: Step, context: ToolContext): Promise<void> => {
    if (of.kind === "sequence") for (const each of of.steps) await follow(each, context);
    if (of.kind === "together") await Promise.all(of.steps.map((each) => follow(each, context)));
    if (of.kind !== "evaluation") return;
    const at = numberOf(evaluations, of);
    const budget = of.budget === undefined ? {} : { budget: { maxTotalTokens: of.budget } };
    const ended = await context.evaluate(look.bind({ number: at }), budget).then(
      ({ text }) => `${text}`,
      (error: unknown) => `${(error as { code?: string }).code}`,
    );
    context.session.dispatch(noted({ what: `${at} ${ended}` }));
  };
  const toolOf = (name: "note" | "peek") =>
    defineTool({
      name,
      description: "A step.",
      input: number,
      ...(name === "peek" ? { readOnly: true } : { transactional: true }),
      async execute({ number: at }, context) {
        const { waits, inside } = calls[at] as Call;
        await wait(waits);
        if (name === "note") context.session.dispatch(noted({ what: `call ${at}` }));
        if (name === "note" && inside !== undefined) await follow(inside, context);
        return at;
      },
    });
  const look = definePrompt({
    key: "look",
    params: number,
    slices: [notes],
    sections: [{ key: "task", text: "look {{number}}.", tools: [toolOf("note"), toolOf("peek")] }],
  });
  const outer = defineTool({
    name: "outer",
    description: "Makes all steps.",
    input: z.object({}),
    transactional: true,
    execute: async (_input, context) => {
      await follow(steps, context);
      return "done";
    },
  });
  const prompt = definePrompt({
    key: "outer",
    slices: [notes],
    sections: [{ key: "task", text: "Go.", tools: [outer] }],
  }).bind();
  const model: ModelProvider = {
    name: "m",
    model: "m-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ messages }) {
      const at = /look (\d+)\./u.exec(messages[0]?.text ?? "")?.[1];
      const turn = messages.filter(({ role }) => role === "assistant").length;
      const of = at === undefined ? undefined : evaluations[Number(at)];
      // Each answer comes alone: what the handler does by it has been done when the next one comes.
      await wait(of?.latencies[turn % of.latencies.length] ?? 0);
      const asked = of?.turns[turn]?.map((call) => {
        const number = numberOf(calls, call);
        return { id: `c${number}`, name: call.tool, arguments: JSON.stringify({ number }) };
      });
      const toolCalls = of === undefined && turn === 0 ? [{ id: "c", name: "outer", arguments: "{}" }] : (asked ?? []);
      return {
        message: { role: "assistant", text: `turn ${turn}`, toolCalls },
        finishReason: toolCalls.length > 0 ? "tool-calls" : "stop",
        usage: { inputTokens: 8, outputTokens: 2 },
      };
    },
  };
  return { prompt, model };
}

it("RPL-3 whatever a handler evaluates side by side, it comes to the same when it runs again, and waits for nothing", async () => {
  await fc.assert(
    fc.asyncProperty(step, async (steps) => {
      const { prompt, model } = programOf(steps);
      const journal = memoryJournal();
      await modelAdapter(model).evaluate(prompt, { run: journal.run("r") });
      for (const tools of ["recorded", "run"] as const) {
        await expectNoWait(() => replay(prompt, journal.replay("r", { tools })));
      }
    }),
    { numRuns: inject("exhaustive") ? 100 : 25, seed: Number(process.env["SEED"] ?? 7) },
  );
});
