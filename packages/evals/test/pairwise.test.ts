import { definePrompt, type ProviderAdapter } from "@proviso/core";
import {
  defineEval,
  formatJUnit,
  formatReport,
  memoryEvalStore,
  pairwise,
  runEval,
  saveRun,
  type PairScorer,
  type Preference,
  type RunOptions,
} from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answering } from "./support.ts";

const greet = definePrompt({ key: "greet", params: z.object({ name: z.string() }), text: "Greet {{name}}." });
interface Guest {
  readonly id: string;
  readonly name: string;
}
const guests = (count: number): readonly Guest[] =>
  Array.from({ length: count }, (_, at) => ({ id: `g${at}`, name: `Guest ${at}.` }));
const nameIn = (text: string): string => /Guest \d+/u.exec(text)?.[0] ?? "";

type Better = "first" | "second" | "neither";
/** A judge's model that is shown both answers; `better` says which of them it prefers. */
function referee(better: (first: string, second: string) => Better | Error, asked: string[] = []): ProviderAdapter {
  return modelAdapter({
    name: "referee",
    model: "referee-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ messages }) {
      const text = messages.map((message) => message.text).join("\n");
      asked.push(text);
      const [first = "", second = ""] = text.split("The second answer:").map((part) => part.slice(part.indexOf("```")));
      const verdict = better(first, second);
      if (verdict instanceof Error) return { failure: "provider", reason: "unknown", message: verdict.message };
      return {
        message: { role: "assistant", text: JSON.stringify({ reason: "Because.", better: verdict }), toolCalls: [] },
        finishReason: "stop",
        usage: { inputTokens: 100, outputTokens: 7 },
      };
    },
  });
}
const polite = (first: string, second: string): Better => {
  if (first.includes("Dear") === second.includes("Dear")) return "neither";
  return first.includes("Dear") ? "first" : "second";
};
const preferring = (adapter: ProviderAdapter) => pairwise({ adapter, question: "Which one is more polite?" });

/** "short" greets without manners, "polite" says Dear to all but every fourth guest. */
const greetings = (
  preferred: PairScorer<Guest, string>,
  more: { readonly count?: number; readonly repetitions?: number; readonly fails?: (text: string) => boolean } = {},
) => {
  const { count = 40, repetitions = 1, fails = () => false } = more;
  const answer = (text: string) => (/\d+/u.exec(text)?.[0]?.endsWith("0") ? "Hi." : `Dear ${nameIn(text)}.`);
  return defineEval({
    name: "greetings",
    data: guests(count),
    prompt: ({ name }: Guest) => greet.bind({ name }),
    variants: {
      short: { adapter: answering(() => "Hi.", [], "short") },
      polite: { adapter: answering((text) => (fails(text) ? new Error("down") : answer(text)), [], "polite") },
    },
    repetitions,
    scorers: { says: ({ output }) => output.length > 0 },
    pairScorers: { preferred },
  });
};
const preferredIn = async (of: ReturnType<typeof greetings>, options: RunOptions = {}) => {
  const report = await runEval(of, options);
  return { report, difference: report.differences["polite"]?.["preferred"] };
};

describe("comparing two answers", () => {
  it("EVL-17 asks twice, the answers swapped, and makes a difference with an interval of what wins", async () => {
    const asked: string[] = [];
    const { report, difference } = await preferredIn(greetings(preferring(referee(polite, asked))));
    expect(asked).toHaveLength(80);
    expect(difference).toMatchObject({ value: 0.9, wins: 36, losses: 0, ties: 4, inconsistent: 0 });
    expect(difference?.low).toBeGreaterThan(0.7);
    const [forth = "", back = ""] = asked.filter((text) => text.includes("Guest 7."));
    expect([forth, back].map((text) => text.indexOf("Dear") < text.indexOf("Hi."))).toEqual([false, true]);
    expect(forth).toContain("Which one is more polite?");
    expect(report.variants["polite"]?.spent.judges.totalTokens).toBe(80 * 107);
    expect(report.variants["short"]?.spent.judges.totalTokens).toBe(0);
    expect(report.spent.totalTokens).toBe(80 * 107 + 80 * 13);
    expect(report.attempts).toHaveLength(80);
    expect(formatReport(report)).toMatch(/preferred +polite +\+0\.9 .* 36 won, 0 lost; proven\n/u);
  });

  it("EVL-17 a place that wins in both orders counts as neither, and the report has the share", async () => {
    const odd = (first: string, second: string): Better =>
      Number(/Guest (\d+)/u.exec(first + second)?.[1]) % 2 === 0 ? "first" : polite(first, second);
    const { report, difference } = await preferredIn(greetings(preferring(referee(odd))));
    expect(difference).toMatchObject({ wins: 20, losses: 0, ties: 20, inconsistent: 0.5 });
    expect(formatReport(report)).toContain("20 of 40 pairs changed with the order, and count as neither");
    const undecided = await preferredIn(
      greetings(preferring(referee((_, second) => (second.includes("Dear") ? "second" : "neither")))),
    );
    expect(undecided.difference).toMatchObject({ wins: 0, losses: 0, inconsistent: 0 });
  });

  it("EVL-17 an answer that failed loses unasked, and failures of the surroundings are in the bounds", async () => {
    const asked: string[] = [];
    const fails = (text: string): boolean => text.includes("3");
    const { difference } = await preferredIn(greetings(preferring(referee(() => "neither", asked)), { fails }));
    expect(asked).toHaveLength((40 - 13) * 2);
    expect(difference).toMatchObject({ wins: 0, losses: 13, ties: 27 });
    expect(difference?.bounds.best.value).toBeCloseTo(13 / 40);
    expect(difference?.bounds.worst.value).toBeCloseTo(-13 / 40);
  });

  it("EVL-17 two failed answers are neither, and the share of odd verdicts is one of all that were given", async () => {
    const asked: string[] = [];
    const fails = (text: string): boolean => text.includes("3");
    const both = defineEval({
      name: "greetings",
      data: guests(40),
      prompt: ({ name }: Guest) => greet.bind({ name }),
      variants: {
        one: { adapter: answering((text) => (fails(text) ? new Error("down") : "Hi."), [], "one") },
        other: { adapter: answering((text) => (fails(text) ? new Error("down") : "Hi."), [], "other") },
      },
      scorers: { says: () => 1 },
      pairScorers: { preferred: preferring(referee(() => "neither", asked)) },
    });
    const report = await runEval(both);
    expect(asked).toHaveLength((40 - 13) * 2);
    expect(report.differences["other"]?.["preferred"]).toMatchObject({ value: 0, wins: 0, losses: 0, ties: 40 });
    // Every fourth pair has no verdict; of the other thirty, ten go by their place.
    const odd = (first: string, second: string): Better | Error => {
      const number = Number(/Guest (\d+)/u.exec(first + second)?.[1]);
      if (number % 4 === 3) return new Error("down");
      return number % 4 === 0 ? "first" : "neither";
    };
    const named: PairScorer<Guest, string> = pairwise({
      adapter: referee(odd),
      question: "Which one is more polite?",
      show: ({ row }) => row.name,
    });
    const { difference } = await preferredIn(greetings(named));
    expect(difference).toMatchObject({ ties: 30, inconsistent: 10 / 30 });
  });

  it.each<readonly [string, PairScorer<Guest, string>]>([
    ["a judge that is down", preferring(referee(() => new Error("down")))],
    ["one that throws", { prefer: () => Promise.reject(new Error("broken")) }],
    ["one that returns none", { prefer: async () => ({ winner: "both" }) as unknown as Preference }],
    ["one that reads what is not kept", { prefer: async ({ variant }) => variant.session as never }],
  ])("EVL-17 %s leaves the pair unscored", async (_, scorer) => {
    const { report, difference } = await preferredIn(greetings(scorer, { count: 6 }));
    expect(difference).toBeUndefined();
    expect(report.variants["polite"]?.pairs).toEqual({
      preferred: { asked: 6, inconsistent: 0, unscored: 6, why: expect.stringMatching(/down|broken|both|not kept/u) },
    });
    expect(formatReport(report)).toContain("6 of 6 pairs unscored: ");
    expect(formatJUnit(report)).toContain("polite: 6 of 6 pairs of preferred are unscored: ");
    expect(report).toMatchObject({ ended: undefined, passes: true });
    expect(report.attempts.every(({ scores }) => "says" in scores)).toBe(true);
  });

  it("EVL-17 a pair is kept, and asked again where an answer, the question or the other variant is another", async () => {
    const asked: string[] = [];
    const store = memoryEvalStore();
    const of = (question: string) => greetings(pairwise({ adapter: referee(polite, asked), question }), { count: 10 });
    const first = await preferredIn(of("Which?"), { store });
    expect(asked).toHaveLength(20);
    const second = await preferredIn(of("Which?"), { store });
    expect(asked).toHaveLength(20);
    expect(second.difference).toEqual(first.difference);
    expect(second.report.spent.totalTokens).toBe(0);
    await preferredIn(of("Which one, now?"), { store });
    expect(asked).toHaveLength(40);
    let isDown = true;
    const shaky = () =>
      greetings(preferring(referee((...texts) => (isDown ? new Error("down") : polite(...texts)), asked)), {
        count: 10,
      });
    await preferredIn(shaky(), { store });
    const before = asked.length;
    isDown = false;
    expect((await preferredIn(shaky(), { store })).difference).toBeUndefined();
    expect(asked).toHaveLength(before);
    expect((await preferredIn(shaky(), { store, resume: "retry-failed" })).difference).toMatchObject({ wins: 9 });
  });

  it.each(["one", "other"] as const)(
    "EVL-17 a pair is asked again where the answer of %s alone is another",
    async (who) => {
      const asked: string[] = [];
      const store = memoryEvalStore();
      const run = (answers: Readonly<Record<"one" | "other", string>>) => {
        const adapterOf = (name: "one" | "other") => answering(() => answers[name], [], `${name} ${answers[name]}`);
        const of = defineEval({
          name: "greetings",
          data: guests(4),
          prompt: ({ name }: Guest) => greet.bind({ name }),
          variants: { one: { adapter: adapterOf("one") }, other: { adapter: adapterOf("other") } },
          scorers: { says: () => 1 },
          pairScorers: { preferred: preferring(referee(polite, asked)) },
        });
        return runEval(of, { store });
      };
      const before = { one: "Hi.", other: "Dear guest." };
      await run(before);
      expect(asked).toHaveLength(8);
      await run(before);
      expect(asked).toHaveLength(8);
      const { differences } = await run({ ...before, [who]: who === "one" ? "Dear friend." : "Hello." });
      expect(asked).toHaveLength(16);
      expect(differences["other"]?.["preferred"]).toMatchObject({ wins: 0, ties: 4 });
    },
  );

  it("EVL-17 pairs are of one repetition, within the run's budget, and none are asked beside a saved run", async () => {
    const asked: string[] = [];
    const of = (repetitions = 1) => greetings(preferring(referee(polite, asked)), { count: 10, repetitions });
    const { difference } = await preferredIn(of(3));
    expect(asked).toHaveLength(10 * 3 * 2);
    expect(difference).toMatchObject({ rows: 10, wins: 9 });
    const cut = await preferredIn(of(), { budget: { maxTotalTokens: 20 * 13 + 900 }, concurrency: 1 });
    expect(cut.report.ended).toMatchObject({ why: "budget" });
    expect(cut.report.spent.totalTokens).toBeLessThanOrEqual(20 * 13 + 900);
    asked.length = 0;
    const compareWith = saveRun(await runEval(of(), { onlyVariants: ["short"] }));
    expect((await preferredIn(of(), { compareWith })).difference).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it("EVL-17 definitions that cannot be are refused", () => {
    expect(() => pairwise({ adapter: referee(polite), question: " " })).toThrow("pairwise needs a question");
    expect(() => pairwise({ adapter: {} as never, question: "Which?" })).toThrow("needs an adapter");
    expect(() => pairwise({ adapter: referee(polite), question: "Which?", rubric: "x" } as never)).toThrow("rubric");
    expect(() => greetings({} as never)).toThrow('has a pair scorer "preferred" without a function prefer');
  });
});
