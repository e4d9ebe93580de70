/** What README.md and the guides tell newcomers to do, so that it can be done. Pure. */

/** What the section Install has people install. */
export function installLine(markdown: string): readonly string[] {
  const [, names] = /^## Install\n[\s\S]*?^npm install ([^\n]+)$/m.exec(markdown) ?? [];
  if (names === undefined) throw new Error("README.md has no line `npm install …` below ## Install.");
  return names.split(" ");
}

/** The name that the first program is to be saved by. */
export function firstProgramName(markdown: string): string {
  const [, name] = /Save it as `([^`]+)`/.exec(markdown) ?? [];
  if (name === undefined) throw new Error("README.md does not say by which name its first program is to be saved.");
  return name;
}

/** How a program is compiled where Node runs no TypeScript. */
export function compilerOptions(markdown: string): readonly string[] {
  const [, options] = /`tsc ((?:--\w+ \w+ )+)[^`]+`/.exec(markdown) ?? [];
  if (options === undefined)
    throw new Error("README.md does not say how a program is compiled: `tsc --option … file`.");
  return options.trim().split(" ");
}

export interface Program {
  readonly text: string;
  readonly prints: string;
}

/** The programs of a page, each with the next block of text below it: what it prints. */
export function programs(markdown: string): readonly Program[] {
  const [, ...parts] = markdown.split(/^```ts\n/m);
  return parts.map((part) => {
    const [program = "", text = ""] = /^([\s\S]*?)^```$/m.exec(part) ?? [];
    const [, prints = ""] = /^```(?:text)?\n([\s\S]*?)^```$/m.exec(part.slice(program.length)) ?? [];
    return { text, prints };
  });
}

/** A program that is a file of tests: vitest runs it. */
export function isTest({ text }: Program): boolean {
  return /from "(?:@proviso\/evals\/)?vitest"/.test(text);
}
