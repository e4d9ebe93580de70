import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

const root = new URL("../../../", import.meta.url);
const run = promisify(execFile);

async function readme(): Promise<string> {
  return readFile(new URL("README.md", root), "utf8");
}

/** The fenced blocks of a language, in order. */
function blocks(markdown: string, language: string): readonly string[] {
  return [...markdown.matchAll(new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\`\`\``, "g"))].map(
    (match) => match[1] ?? "",
  );
}

const programs = ["main"];

test.each(programs)(
  "DOC-1 a program of the README is examples/hello/%s.ts, and prints what stands below it",
  async (name) => {
    const program = await readFile(new URL(`../${name}.ts`, import.meta.url), "utf8");
    const markdown = await readme();
    expect(blocks(markdown, "ts")).toContain(program);
    const { stdout } = await run(process.execPath, [...fromSources, `examples/hello/${name}.ts`], {
      cwd: root,
    });
    expect(markdown.slice(markdown.indexOf(program) + program.length)).toContain(`\`\`\`\n\n\`\`\`\n${stdout}\`\`\``);
  },
);

test("DOC-1 every program of the README is one of these", async () => {
  expect(blocks(await readme(), "ts")).toHaveLength(programs.length);
});

test("DOC-2 the first two commands of the README are the demo and the tests", async () => {
  const [first, second] = blocks(await readme(), "sh");
  expect(first?.split("\n")[0]).toBe("npx -y pnpm@12 demo");
  expect(second?.split("\n")[0]).toBe("npx -y pnpm@12 test");
});
