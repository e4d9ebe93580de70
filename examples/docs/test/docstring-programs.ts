import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./guide-programs.ts";

interface Example {
  readonly of: string;
  readonly text: string;
  /** What the comments behind `console.log(…)` expect, in order; empty where the program needs a network. */
  readonly prints: string;
}

const blocks = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport (?:async )?function (\w+)/g;

function examplesIn(source: string): readonly Example[] {
  return [...source.matchAll(blocks)].flatMap(([, doc = "", of = ""]) => {
    const [, code] = /@example\n \* ```ts\n([\s\S]*?)\n \* ```/.exec(doc) ?? [];
    if (code === undefined) return [];
    const text = code.replaceAll(/^ \* ?/gm, "");
    const printed = [...text.matchAll(/console\.log\(.*\); \/\/ (.*)$/gm)];
    return [{ of, text, prints: printed.map(([, line]) => `${line}\n`).join("") }];
  });
}

const sources = globSync("packages/*/src/**/*.ts", { cwd: root }).toSorted();

/** The examples of the docstrings of all packages' functions. */
export const examples = sources.flatMap((path) => examplesIn(readFileSync(join(root, path), "utf8")));
