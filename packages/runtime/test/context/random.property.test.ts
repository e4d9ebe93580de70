import {
  defineTool,
  definePrompt,
  isEvaluationFailure,
  parseMessages,
  type FrameworkEvent,
  type Message,
  type ModelProvider,
  type ModelRequest,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { isPrefix, tooLong } from "./support.ts";

const read = defineTool({
  name: "read",
  description: "Reads so many characters.",
  input: z.object({ characters: z.number() }),
  readOnly: true,
  execute: ({ characters }) => "r".repeat(characters),
});
const prompt = definePrompt({
  key: "random",
  params: z.object({ said: z.string() }),
  sections: [
    { key: "guide", text: "Work.", tools: [read] },
    { key: "said", text: "{{said}}", role: "user" },
  ],
});

const step = fc.record({
  /** Characters of each result that is asked for; none: a text is answered. */
  results: fc.array(fc.nat(4_000), { maxLength: 3 }),
  words: fc.nat(1_500),
  reads: fc.boolean(),
  fails: fc.constantFrom("no", "no", "no", "no", "no", "too long", "auth"),
});
const world = fc.record({
  /** What the policy says, and what the service really takes. */
  window: fc.integer({ min: 3_000, max: 20_000 }),
  real: fc.integer({ min: 3_000, max: 20_000 }),
  charactersPerToken: fc.constantFrom(1, 3, 4, 6),
  reports: fc.boolean(),
  keepTurns: fc.nat(5),
  compactTo: fc.constantFrom(0.2, 0.5, 0.7),
  toolResultCharacters: fc.constantFrom(300, 1_500, 65_536),
  summary: fc.constantFrom("none", "own", "fails", "empty"),
  said: fc.array(fc.nat(3_000), { minLength: 1, maxLength: 6 }),
  steps: fc.array(step, { minLength: 1, maxLength: 25 }),
  budget: fc.option(fc.integer({ min: 5_000, max: 200_000 }), { nil: undefined }),
});
type World = typeof world extends fc.Arbitrary<infer Given> ? Given : never;

/** A service that refuses what is too long, and asks for whatever the steps say. */
function service({ steps, real, charactersPerToken, reports, summary }: World) {
  const requests: ModelRequest[] = [];
  let next = 0;
  const model: ModelProvider = {
    name: "random",
    model: "random-1",
    maxOutputTokens: 500,
    capabilities: { tools: true, nativeOutput: false },
    async generate(request) {
      const isSummary = request.messages.at(-1)?.text.startsWith("<earlier-summary>") === true;
      const inputTokens = Math.ceil((JSON.stringify(request.messages).length + 400) / charactersPerToken);
      const answer = (text: string, toolCalls: { id: string; name: string; arguments: string }[] = []) => ({
        message: { role: "assistant", text, toolCalls } as const,
        finishReason: toolCalls.length > 0 ? ("tool-calls" as const) : ("stop" as const),
        usage: reports ? { inputTokens, outputTokens: 50 } : undefined,
      });
      if (inputTokens > real - 500) return tooLong();
      if (isSummary) {
        if (summary === "fails") return { failure: "provider", reason: "auth", message: "No." } as never;
        return answer(summary === "empty" ? " " : "s".repeat(5_000));
      }
      requests.push(request);
      const { results, words, reads, fails } = steps[next % steps.length] as World["steps"][number];
      next += 1;
      if (fails === "too long") return tooLong();
      if (fails === "auth") return { failure: "provider", reason: "auth", message: "No." } as never;
      const refs = request.messages.flatMap((message) =>
        message.role === "tool" && message.full ? [message.full.hash] : [],
      );
      const reading =
        reads && refs.length > 0 ? [{ name: "read_result", given: { ref: refs[next % refs.length], from: 7 } }] : [];
      const calls = [...results.map((characters) => ({ name: "read", given: { characters } })), ...reading];
      return answer(
        "w".repeat(words + 1),
        calls.map(({ name, given }, index) => ({ id: `c${next}_${index}`, name, arguments: JSON.stringify(given) })),
      );
    },
  };
  return { adapter: modelAdapter(model), requests };
}

const allowed = new Set(["provider", "turns", "budget"]);

test("CTX-5 CTX-6 CTX-8 CTX-11 whatever a model answers and refuses, histories stay whole and only grow between two shortenings", async () => {
  const runs = inject("exhaustive") ? 1_000 : 100;
  let compactions = 0;
  let answers = 0;
  await fc.assert(
    fc.asyncProperty(world, async (given) => {
      const { adapter, requests } = service(given);
      const { window, keepTurns, compactTo, toolResultCharacters, summary, budget } = given;
      const context = {
        window,
        keepTurns,
        compactTo,
        toolResultCharacters,
        ...(summary === "none" ? {} : { summary: { maxTokens: 200 } }),
      };
      let messages: readonly Message[] = [];
      for (const characters of given.said) {
        const session = createSession();
        const events: FrameworkEvent[] = [];
        session.on("*", (event) => void events.push(event as FrameworkEvent));
        const from = requests.length;
        const bound = prompt.bind({ said: "q".repeat(characters + 1) });
        const options = {
          session,
          messages,
          context,
          maxTurns: 20,
          ...(budget && { budget: { maxTotalTokens: budget } }),
        };
        const ended = await adapter.evaluate(bound, options).catch((error: unknown) => error);
        const left = ended as { readonly messages: readonly Message[]; readonly code?: string };
        if (isEvaluationFailure(ended)) expect(allowed).toContain(ended.code);
        else answers += 1;
        expect(parseMessages(JSON.parse(JSON.stringify(left.messages)))).toHaveLength(left.messages.length);

        const own = events.filter((event) => event.parent === undefined);
        const shortened = own.filter((event) => event.type === "history.compacted");
        compactions += shortened.length;
        expect(shortened.filter(({ why }) => why === "refused").length).toBeLessThanOrEqual(2);
        for (const event of shortened) {
          expect(event.before).toBeGreaterThan(0);
          expect(event.elided.length + event.replaced).toBeGreaterThan(0);
          if (event.why === "threshold") expect(event.after).toBeLessThanOrEqual(window - 500);
          expect(event.after).toBeLessThan(event.before);
          if (event.summarised) expect(summary).toBe("own");
        }
        const sent = requests.slice(from).map((request) => request.messages);
        const breaks = sent.slice(1).filter((now, index) => !isPrefix(sent[index] ?? [], now)).length;
        expect(breaks).toBeLessThanOrEqual(shortened.length);
        // The prompt's own message is in every request, as it is.
        for (const each of sent)
          expect(each.some(({ role, text }) => role === "user" && text.length === characters + 1)).toBe(true);
        for (const each of sent) {
          const standIns = each.filter(({ text }) => /^\[\d+ earlier messages/.test(text));
          expect(standIns.length).toBeLessThanOrEqual(1);
        }
        messages = left.messages;
      }
    }),
    { numRuns: runs },
  );
  expect(compactions).toBeGreaterThan(runs / 3);
  expect(answers).toBeGreaterThan(runs / 3);
}, 900_000);
