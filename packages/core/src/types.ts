import type { Prompt } from "./prompt/template.ts";
import type { Schema } from "./schema.ts";

export type InputOf<S> = S extends Schema<infer I, unknown> ? I : never;
/** Of a schema, a template or a prompt. */
export type OutputOf<T> =
  T extends Schema<unknown, infer O>
    ? O
    : T extends { bind(...params: never[]): Prompt<infer O> }
      ? O
      : T extends Prompt<infer O>
        ? O
        : never;
export type ParamsOf<T> = T extends { bind(...params: infer P): unknown } ? Exclude<P[0], undefined> : never;
