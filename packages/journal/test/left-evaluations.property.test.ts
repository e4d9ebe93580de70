// Random handlers that return while evaluations that they began are under way: what those come to by then, and what is
// stopped, is the same when the handlers run again, whatever else takes its time.
import { defineEvent, definePrompt, defineSlice, defineTool, type ModelProvider } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import fc from "fast-check";
import { setImmediate as turnOfLoop } from "node:timers/promises";
import { expect, inject, it } from "vitest";
import { z } from "zod";
import { expectNoWait } from "./support.ts";

/** A call of an evaluation inside: it dispatches, or evaluates, or evaluates and does not wait for that. */
interface InsideCall {
  readonly tool: "note" | "ask" | "leave";
  readonly turns: number;
  readonly fails: boolean;
}
interface Handler {
  readonly turns: number;
  readonly fails: boolean;
  readonly evaluations: readonly { readonly isLeft: boolean; readonly calls: readonly InsideCall[] }[];
}

const inside = fc.record({
  tool: fc.constantFrom<InsideCall["tool"]>("note", "note", "ask", "leave"),
  turns: fc.nat(6),
  fails: fc.boolean(),
});
const handlers = fc.array(
  fc.record({
    turns: fc.nat(8),
    fails: fc.boolean(),
    evaluations: fc.array(
      fc.record({ isLeft: fc.boolean(), calls: fc.array(inside, { minLength: 1, maxLength: 3 }) }),
      { minLength: 1, maxLength: 2 },
    ),
  }),
  { minLength: 1, maxLength: 2 },
);

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** Waits for so many turns of the loop, and fails then. */
async function take({ turns, fails }: { readonly turns: number; readonly fails: boolean }): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await turnOfLoop();
  if (fails) throw new Error("It fails.");
}

/** A prompt whose calls have these handlers, and the model that answers it. */
function programOf(plan: readonly Handler[]) {
  const place = z.object({ of: z.number(), at: z.number(), call: z.number() });
  const callAt = ({ of, at, call }: z.infer<typeof place>): InsideCall =>
    plan[of]?.evaluations[at]?.calls[call] as InsideCall;
  const free = { uses: [], transactional: true } as const;
  const note = defineTool({
    name: "note",
    description: "Notes.",
    input: place,
    ...free,
    async execute(given, { session }) {
      session.dispatch(noted({ text: `${given.of}.${given.at}.${given.call}` }));
      await take(callAt(given));
    },
  });
  const asking = (name: "ask" | "leave") =>
    defineTool({
      name,
      description: "Evaluates.",
      input: place,
      ...free,
      async execute(given, { evaluate }) {
        const evaluation = evaluate(`A question of ${given.of}.${given.at}.${given.call}`);
        if (name === "ask") await evaluation;
        else evaluation.catch(() => {});
        await take(callAt(given));
      },
    });
  const look = definePrompt({
    key: "look",
    params: z.object({ of: z.number(), at: z.number() }),
    slices: [notes],
    sections: [{ key: "task", text: "look {{of}} {{at}}.", tools: [note, asking("ask"), asking("leave")] }],
  });
  const outer = defineTool({
    name: "outer",
    description: "Leaves evaluations behind.",
    input: z.object({ of: z.number() }),
    ...free,
    async execute({ of }, { evaluate }) {
      const { evaluations, ...rest } = plan[of] as Handler;
      const awaited = evaluations.flatMap(({ isLeft }, at) => {
        const ended = evaluate(look.bind({ of, at })).catch(() => {});
        return isLeft ? [] : [ended];
      });
      await Promise.all(awaited);
      await take(rest);
    },
  });
  const model: ModelProvider = {
    name: "m",
    model: "m-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ messages }) {
      const [, of, at] = /look (\d) (\d)\./u.exec(messages[0]?.text ?? "") ?? [];
      const calls = plan[Number(of)]?.evaluations[Number(at)]?.calls ?? [];
      const asked =
        messages[0]?.text === "Go."
          ? plan.map((_, each) => ["outer", { of: each }] as const)
          : calls.map(({ tool }, call) => [tool, { of: Number(of), at: Number(at), call }] as const);
      const toolCalls = messages.length > 1 ? [] : asked;
      return {
        message: {
          role: "assistant",
          text: "An answer.",
          toolCalls: toolCalls.map(([name, given], id) => ({ id: `c${id}`, name, arguments: JSON.stringify(given) })),
        },
        finishReason: toolCalls.length > 0 ? "tool-calls" : "stop",
        usage: { inputTokens: 8, outputTokens: 2 },
      };
    },
  };
  const sections = [{ key: "task", text: "Go.", tools: [outer] }];
  return { prompt: definePrompt({ key: "outer", slices: [notes], sections }).bind(), model };
}

it("RPL-3 what a call leaves behind comes as far as it had come before the call ends again, and waits for nothing", async () => {
  await fc.assert(
    fc.asyncProperty(handlers, async (plan) => {
      const { prompt, model } = programOf(plan);
      const journal = memoryJournal();
      const session = createSession({ id: "s" });
      await modelAdapter(model).evaluate(prompt, { session, run: journal.run("r") });
      for (const tools of ["recorded", "run"] as const) {
        await expectNoWait(async () => {
          const again = await replay(prompt, journal.replay("r", { tools }));
          expect(again.session.get(notes)).toEqual(session.get(notes));
        });
      }
    }),
    { numRuns: inject("exhaustive") ? 1_000 : 100, seed: Number(process.env["SEED"] ?? 7) },
  );
});
