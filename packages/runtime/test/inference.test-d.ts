// Compiled by `pnpm typecheck`, never run.
import {
  definePrompt,
  type EvaluationStream,
  type JournalRun,
  type Prompt,
  type ProviderAdapter,
  type ToolContext,
} from "@proviso/core";
import { evaluateAll, type EvaluatedAll } from "@proviso/runtime";
import type { Conversation } from "@proviso/runtime";
import { describe, expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const adapter: ProviderAdapter;
declare const oneRun: JournalRun;
const a = definePrompt({ key: "a", output: z.object({ n: z.number() }), text: "x" });
const b = definePrompt({ key: "b", output: z.object({ s: z.string() }), text: "x" });
const plain = definePrompt({ key: "c", text: "x" });
type A = { n: number };
type B = { s: string };

declare const context: ToolContext;
declare const conversation: Conversation;
declare const either: Prompt<A> | Prompt<B>;
declare const asked: Prompt<A> | string;

describe("evaluate and stream", () => {
  test("the output of one of several prompts is a union", () => {
    expectTypeOf(adapter.evaluate(either)).resolves.toHaveProperty("output").toEqualTypeOf<A | B>();
    expectTypeOf(adapter.stream(either)).toEqualTypeOf<EvaluationStream<A | B>>();
    expectTypeOf(context.evaluate(either)).resolves.toHaveProperty("output").toEqualTypeOf<A | B>();
    expectTypeOf(conversation.evaluate(adapter, either)).resolves.toHaveProperty("output").toEqualTypeOf<A | B>();
    expectTypeOf(conversation.stream(adapter, either)).toEqualTypeOf<EvaluationStream<A | B>>();
  });

  test("that of a text or a prompt is a text or the prompt's", () => {
    expectTypeOf(adapter.evaluate(asked)).resolves.toHaveProperty("output").toEqualTypeOf<A | string>();
    expectTypeOf(adapter.stream(asked)).toEqualTypeOf<EvaluationStream<A | string>>();
    expectTypeOf(adapter.evaluate("x")).resolves.toHaveProperty("output").toEqualTypeOf<string>();
  });

  test("a table of prompts is evaluated by a key", () => {
    const all = { a, b, plain };
    const run = <K extends keyof typeof all>(key: K) => adapter.evaluate(all[key].bind());
    expectTypeOf(run("a")).resolves.toHaveProperty("output").toEqualTypeOf<A | B | string>();
  });

  test("a function around it keeps its own type parameter", () => {
    const around = <O>(prompt: Prompt<O>) => adapter.evaluate(prompt);
    expectTypeOf(around(a.bind())).resolves.toHaveProperty("output").toEqualTypeOf<A>();
  });

  test("where the type says nothing of the output, it is unknown", () => {
    const any = JSON.parse("{}");
    expectTypeOf(adapter.evaluate(any)).resolves.toHaveProperty("output").toEqualTypeOf<unknown>();
    const whole = <P extends Prompt>(prompt: P) => adapter.evaluate(prompt);
    expectTypeOf(whole(a.bind())).resolves.toHaveProperty("output").toEqualTypeOf<unknown>();
  });

  test("what is neither a prompt nor a text is refused", () => {
    // @ts-expect-error a template is not bound
    void adapter.evaluate(a);
    // @ts-expect-error one of the two is not bound
    void adapter.evaluate({} as typeof a | Prompt<B>);
  });
});

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
