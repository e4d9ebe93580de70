// Compiled by `pnpm typecheck`, never run.
import { definePrompt, type JournalRun, type Prompt, type ProviderAdapter } from "@proviso/core";
import { evaluateAll, type EvaluatedAll } from "@proviso/runtime";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const adapter: ProviderAdapter;
declare const oneRun: JournalRun;
const a = definePrompt({ key: "a", output: z.object({ n: z.number() }), text: "x" });
const b = definePrompt({ key: "b", output: z.object({ s: z.string() }), text: "x" });
const plain = definePrompt({ key: "c", text: "x" });
type A = { n: number };
type B = { s: string };

describe("evaluateAll", () => {
  test("the output is that of the prompts", () => {
    expectTypeOf(evaluateAll([a.bind()], { adapter })).toEqualTypeOf<EvaluatedAll<A>>();
    expectTypeOf(evaluateAll([plain.bind()], { adapter })).toEqualTypeOf<EvaluatedAll<string>>();
    expectTypeOf(evaluateAll<A>([a.bind()], { adapter })).toEqualTypeOf<EvaluatedAll<A>>();
  });

  test("of prompts with several outputs it is a union", () => {
    expectTypeOf(evaluateAll([a.bind(), b.bind()], { adapter })).toEqualTypeOf<EvaluatedAll<A | B>>();
    expectTypeOf(evaluateAll([a.bind(), plain.bind()], { adapter })).toEqualTypeOf<EvaluatedAll<A | string>>();
    const source = (async function* () {
      yield a.bind();
      yield b.bind();
    })();
    expectTypeOf(evaluateAll(source, { adapter })).toEqualTypeOf<EvaluatedAll<A | B>>();
  });

  test("a function around it keeps its own type parameter", () => {
    const around = <O>(prompts: readonly Prompt<O>[]): EvaluatedAll<O> => evaluateAll(prompts, { adapter });
    expectTypeOf(around([a.bind()])).toEqualTypeOf<EvaluatedAll<A>>();
  });

  test("BAT-3 a run is a function of the prompt and its place", () => {
    evaluateAll([a.bind(), b.bind()], {
      adapter,
      run: (prompt, index) => {
        expectTypeOf(prompt).toEqualTypeOf<Prompt>();
        expectTypeOf(index).toBeNumber();
        return undefined;
      },
    });
    // @ts-expect-error one run for all
    evaluateAll([a.bind()], { adapter, run: oneRun });
  });
});
