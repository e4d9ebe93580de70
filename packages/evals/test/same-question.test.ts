import { definePrompt, type ModelProvider, type Prompt, type ProviderAdapter } from "@proviso/core";
import {
  checkEval,
  defineEval,
  judge,
  memoryEvalStore,
  pairwise,
  runEval,
  sample,
  split,
  type EvalReport,
} from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answering } from "./support.ts";

interface Question {
  readonly id: string;
  readonly text: string;
}
const questions: readonly Question[] = [
  { id: "1", text: "one" },
  { id: "2", text: "two" },
];
const params = z.object({ text: z.string() });

type Part = { readonly prompt?: (row: Question) => Prompt; readonly adapter?: ProviderAdapter };
const ask = definePrompt({ key: "ask", params, text: "Answer {{text}}." });

/** How many attempts the second of two runs over one store had kept. */
async function keptOf(first: Part, second: Part): Promise<number> {
  const store = memoryEvalStore();
  const run = (part: Part): Promise<EvalReport> => {
    const parts = { prompt: ({ text }: Question) => ask.bind({ text }), adapter: answering(() => "yes"), ...part };
    return runEval(defineEval({ name: "ask", data: questions, scorers: { any: () => 1 }, ...parts }), { store });
  };
  expect((await run(first)).attempts).toHaveLength(2);
  return (await run(second)).reused;
}

describe("what is kept is the answer to the same question", () => {
  const labelled = (output: z.ZodType) => ({
    prompt: ({ text }: Question) =>
      definePrompt({ key: "label", params, output, text: "Label {{text}}." }).bind({ text }),
    adapter: answering(() => JSON.stringify({ label: "a" })),
  });
  const label = z.object({ label: z.enum(["a", "b"]) });

  it("EVL-25 another output schema asks again", async () => {
    expect(await keptOf(labelled(label), labelled(z.object({ label: z.enum(["a", "b"]) })))).toBe(2);
    expect(await keptOf(labelled(label), labelled(z.object({ label: z.enum(["b", "c"]) })))).toBe(0);
    const described = z.object({ label: z.enum(["a", "b"]).describe("The topic.") });
    expect(await keptOf(labelled(label), labelled(described))).toBe(0);
  });

  it("EVL-25 an output in place of a text, and a model that is asked for it in words, are asked again", async () => {
    const plain = definePrompt({ key: "label", params, text: "Label {{text}}." });
    const prompt = ({ text }: Question): Prompt => plain.bind({ text });
    expect(await keptOf({ ...labelled(label), prompt }, labelled(label))).toBe(0);
    const inWords = modelAdapter({
      name: "words",
      model: "words-1",
      capabilities: { tools: true, nativeOutput: false },
      generate: async () => ({
        message: { role: "assistant", text: JSON.stringify({ label: "a" }), toolCalls: [] },
        finishReason: "stop",
      }),
    });
    expect(await keptOf(labelled(label), { ...labelled(label), adapter: inWords })).toBe(0);
  });

  it("EVL-25 another role of a section asks again", async () => {
    const withRole = (role: "system" | "user"): Part => {
      const sections = [
        { key: "how", text: "You answer." },
        { key: "what", text: "{{text}}", role },
      ];
      const prompt = definePrompt({ key: "ask", params, sections });
      return { prompt: ({ text }) => prompt.bind({ text }) };
    };
    expect(await keptOf(withRole("user"), withRole("user"))).toBe(2);
    expect(await keptOf(withRole("system"), withRole("user"))).toBe(0);
  });

  it("EVL-25 other settings of an adapter ask again", async () => {
    const provider = (settingsHash: string): ModelProvider => ({
      name: "words",
      model: "words-1",
      settingsHash,
      capabilities: { tools: true, nativeOutput: true },
      generate: async () => ({ message: { role: "assistant", text: "yes", toolCalls: [] }, finishReason: "stop" }),
    });
    const model = (settingsHash: string): Part => ({ adapter: modelAdapter(provider(settingsHash)) });
    expect(await keptOf(model("cold"), model("cold"))).toBe(2);
    expect(await keptOf(model("cold"), model("warm"))).toBe(0);
    expect(await keptOf(model("cold"), { adapter: modelAdapter(provider("cold"), { toolChoice: "none" }) })).toBe(0);
    const chain = (settingsHash: string): Part => {
      const second = model(settingsHash).adapter as ProviderAdapter;
      return { adapter: fallback([answering(() => "yes"), second]) };
    };
    expect(await keptOf(chain("cold"), chain("cold"))).toBe(2);
    expect(await keptOf(chain("cold"), chain("warm"))).toBe(0);
  });

  it("EVL-25 a judge whose model has other settings is another scorer", () => {
    const adapter = (settingsHash: string): ProviderAdapter =>
      modelAdapter({
        name: "judge",
        model: "judge-1",
        settingsHash,
        capabilities: { tools: true, nativeOutput: true },
        generate: () => Promise.reject(new Error("is not asked")),
      });
    const versions = (of: string): unknown => [
      judge({ adapter: adapter(of), rubric: "It is short." }).version,
      pairwise({ adapter: adapter(of), question: "Which one is shorter?" }).version,
    ];
    expect(versions("cold")).toEqual(versions("cold"));
    const [cold, warm] = [versions("cold"), versions("warm")] as [unknown[], unknown[]];
    expect(cold[0]).not.toBe(warm[0]);
    expect(cold[1]).not.toBe(warm[1]);
  });

  it("EVL-17 a pair is compared again where its row is another", async () => {
    const asked: string[] = [];
    const referee = answering(() => JSON.stringify({ reason: "Because.", better: "first" }), asked);
    const store = memoryEvalStore();
    const run = (reference: string): Promise<EvalReport> =>
      runEval(
        defineEval({
          name: "pairs",
          data: questions.map((row) => ({ ...row, reference })),
          prompt: ({ text }: Question) => ask.bind({ text }),
          variants: { a: { adapter: answering(() => "A", [], "a") }, b: { adapter: answering(() => "B", [], "b") } },
          scorers: { any: () => 1 },
          pairScorers: { better: pairwise({ adapter: referee, question: "Which one is closer to the reference?" }) },
        }),
        { store },
      );
    await run("A is right");
    await run("A is right");
    expect(asked).toHaveLength(4);
    await run("B is right");
    expect(asked).toHaveLength(8);
  });
});

async function allOf<Row>(rows: AsyncIterable<Row>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}

describe("rows that hold files", () => {
  const read = definePrompt({
    key: "read",
    params: z.object({ page: z.file() }),
    sections: [{ key: "page", role: "user", text: "Read {{page}}" }],
  });
  const reader = modelAdapter({
    name: "reader",
    model: "reader-1",
    capabilities: { tools: true, nativeOutput: true, files: { types: ["text/*"], from: ["stored"] } },
    generate: async () => ({ message: { role: "assistant", text: "read", toolCalls: [] }, finishReason: "stop" }),
  });
  const page = (text: string): File => new File([text], "page.txt", { type: "text/plain" });
  const reading = (rows: readonly { readonly id?: string; readonly pages: readonly File[] }[]) =>
    defineEval({
      name: "pages",
      data: rows,
      prompt: ({ pages }) => read.bind({ page: pages[0] as File }),
      adapter: reader,
      scorers: { any: () => 1 },
    });

  it("EVL-25 another content of a file of the row asks again", async () => {
    const store = memoryEvalStore();
    const run = (...texts: string[]): Promise<EvalReport> =>
      runEval(reading(texts.map((text, at) => ({ id: `p${at}`, pages: [page(text)] }))), { store });
    await run("a hundred", "same");
    expect((await run("a hundred", "same")).reused).toBe(2);
    expect((await run("thousands", "same")).reused).toBe(1);
  });

  it("EVL-25 another content of a file that the prompt itself binds asks again", async () => {
    const binding = (text: string): Part => ({ prompt: () => read.bind({ page: page(text) }), adapter: reader });
    expect(await keptOf(binding("a hundred"), binding("a hundred"))).toBe(2);
    expect(await keptOf(binding("a hundred"), binding("thousands"))).toBe(0);
  });

  it("EVL-2 EVL-4 rows are named and drawn by the bytes of their files", async () => {
    const rows = ["one", "two", "three", "four"].map((text) => ({ pages: [page(text)] }));
    const report = await runEval(reading(rows));
    expect(new Set(report.attempts.map(({ rowId }) => rowId)).size).toBe(4);
    const drawn = await allOf(sample(rows, { size: 2 }));
    expect(new Set(drawn).size).toBe(2);
    const parts = split(rows, { test: 0.5 });
    const [train, test] = [await allOf(parts.train), await allOf(parts.test)];
    expect(train.length * test.length).toBeGreaterThan(0);
    await expect(checkEval(reading([{ pages: [page("one")] }, { pages: [page("one")] }]))).rejects.toThrow(
      /rows 1 and 2 have the id "[0-9a-f]{16}"/,
    );
  });

  it("EVL-1 a row with what JSON does not have is refused by its path", async () => {
    const odd = defineEval({
      name: "odd",
      data: [
        { id: "1", seen: [{ by: new Map([["a", 1]]) }] },
        { id: "2", seen: new Set([1]) },
        { id: "3", seen: new Blob(["bytes"]) },
        { id: "4", seen: new Date(0), bytes: new Uint8Array(0), none: {}, empty: [] },
      ],
      prompt: () => ask.bind({ text: "" }),
      adapter: reader,
      scorers: { any: () => 1 },
    });
    await expect(checkEval(odd)).rejects.toThrow(
      'row 1 cannot be written as JSON: "seen[0].by" is a Map, which JSON does not have; give a list or an object; ' +
        'row 2 cannot be written as JSON: "seen" is a Set, which JSON does not have; give a list or an object; ' +
        'row 3 cannot be written as JSON: "seen" is a Blob, which JSON does not have; give a list or an object.',
    );
  });
});
