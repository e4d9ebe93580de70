import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";

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

test("DOC-1 the README's program is the one in examples/hello, and prints what stands below it", async () => {
  const program = await readFile(new URL("../main.ts", import.meta.url), "utf8");
  const markdown = await readme();
  expect(blocks(markdown, "ts")[0]).toBe(program);
  const { stdout } = await run(process.execPath, ["--conditions=@proviso/source", "examples/hello/main.ts"], {
    cwd: root,
  });
  expect(markdown.slice(markdown.indexOf(program))).toContain(stdout.trim());
});

test("DOC-2 the first two commands of the README are the demo and the tests", async () => {
  const [first, second] = blocks(await readme(), "sh");
  expect(first?.split("\n")[0]).toBe("npx -y pnpm@12 demo");
  expect(second?.split("\n")[0]).toBe("npx -y pnpm@12 test");
});
