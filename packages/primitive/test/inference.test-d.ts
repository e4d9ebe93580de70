// Compiled by `pnpm typecheck`, never run.
import type { EvaluationFailure, ErrorReason, ProviderAdapter } from "@proviso/core";
import { openai } from "@proviso/adapter-openai";
import { definePrimitive } from "@proviso/primitive";
import { expectTypeOf, test } from "vitest";
import { z } from "zod";

declare const adapter: ProviderAdapter;
const output = z.object({ label: z.enum(["good", "bad"]), score: z.number().default(0) });
const block = { name: "classify", systemPrompt: "Classify the text.", output };

test("BLK-5 data is the output schema's type, without an annotation", async () => {
  const result = await definePrimitive({ ...block, adapter }).run("A fine day.");
  if (result.success) expectTypeOf(result.data).toEqualTypeOf<{ label: "good" | "bad"; score: number }>();
  else {
    expectTypeOf(result.error).toEqualTypeOf<EvaluationFailure>();
    expectTypeOf(result.reason).toEqualTypeOf<ErrorReason>();
    expectTypeOf<typeof result.errorType>().toEqualTypeOf<EvaluationFailure["name"]>();
    // @ts-expect-error: there is none
    void result.data;
  }
  const list = await definePrimitive({ ...block, output: z.array(z.string()), adapter }).run("A fine day.");
  if (list.success) expectTypeOf(list.data).toEqualTypeOf<string[]>();
});

test("BLK-4 an adapter's own function will do", () => {
  definePrimitive({ ...block, model: "gpt-5.4", temperature: 0, adapter: openai });
});

test("BLK-11 what a policy may name and answer", () => {
  definePrimitive({
    ...block,
    adapter,
    recovery: [{ on: ["render_error"], recover: () => ({ data: { label: "good" as const, score: 1 } }) }],
  });
  const output = z.object({ count: z.string().transform(Number), unit: z.string().default("pieces") });
  definePrimitive({
    ...block,
    output,
    adapter,
    recovery: [{ on: ["render_error"], recover: () => ({ data: { count: "5" } }) }],
  });
  const counted = () => ({ data: { count: 5 } });
  // @ts-expect-error: what the schema takes, not what it gives
  definePrimitive({ ...block, output, adapter, recovery: [{ on: ["render_error"], recover: counted }] });
  // @ts-expect-error: it was retried inside
  definePrimitive({ ...block, adapter, recovery: [{ on: ["rate_limit_error"], recover: () => "bubble" }] });
  const wide: string = "good";
  const label = () => ({ data: { label: wide, score: 1 } });
  // @ts-expect-error: not the output
  definePrimitive({ ...block, adapter, recovery: [{ on: ["render_error"], recover: label }] });
});

test("BLK-5 what is not there, or is no payload, does not compile", () => {
  const primitive = definePrimitive({ ...block, adapter });
  // @ts-expect-error: a payload is a text
  void primitive.run(42);
  // @ts-expect-error: read-only
  primitive.name = "other";
  // @ts-expect-error: no output
  definePrimitive({ name: "a", systemPrompt: "b", adapter });
});
