import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A refusal as a service sends it. */
export interface CapturedRefusal {
  readonly service: string;
  readonly status: number;
  readonly body: unknown;
}

/** Refusals of requests that do not fit the model's context, and of others whose texts are like them. */
export const { full, mentioned } = JSON.parse(
  readFileSync(join(import.meta.dirname, "__fixtures__", "full-contexts.json"), "utf8"),
) as {
  readonly full: readonly CapturedRefusal[];
  readonly mentioned: readonly (CapturedRefusal & { readonly expected: object })[];
};
