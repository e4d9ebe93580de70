import { readFileSync } from "node:fs";
import { join } from "node:path";

export type Body = Record<string, unknown>;

/** An answer in the shape of a captured one; a new copy each time. */
export function fixture(name: string): Body {
  return JSON.parse(readFileSync(join(import.meta.dirname, "..", "__fixtures__", `${name}.json`), "utf8")) as Body;
}
