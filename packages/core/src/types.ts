import type { Prompt } from "./prompt/template.ts";
import type { Schema } from "./schema.ts";

/** What a schema accepts, before its defaults and transformations. */
export type InputOf<S> = S extends Schema<infer I, unknown> ? I : never;
/** What a schema yields, or what evaluating a template, a prompt or a text answers with in `output`. */
export type OutputOf<T> =
  T extends Schema<unknown, infer O>
    ? O
    : T extends { bind(...params: never[]): Prompt<infer O> }
      ? O
      : T extends Prompt<infer O>
        ? O
        : T extends string
          ? string
          : never;

/** What a template's `bind` takes. */
export type ParamsOf<T> = T extends { bind(...params: infer P): unknown } ? Exclude<P[0], undefined> : never;
