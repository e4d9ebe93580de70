import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";

vi.setConfig({ testTimeout: 60_000 });

const run = promisify(execFile);
const here = new URL("../", import.meta.url).pathname;
const root = new URL("../../../", import.meta.url).pathname;
const docs = join(root, "docs");
const pages = (await readdir(docs)).filter((name) => name.endsWith(".md"));

/** The first program of a page, and what it says that it prints. */
async function snippet(page: string): Promise<readonly [program: string, printed: string]> {
  const markdown = await readFile(join(docs, page), "utf8");
  const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(markdown) ?? [];
  const [, printed = ""] = /```text\n([\s\S]*?)```/.exec(markdown) ?? [];
  return [program, printed];
}

test.each(pages)("DOC-4 the program in docs/%s runs and prints what stands below it", async (page) => {
  const [program, printed] = await snippet(page);
  expect(program).not.toBe("");
  // The packages that it imports are this example's; it is written nowhere.
  const args = ["--conditions=@proviso/source", "--input-type=module-typescript", "--eval", program];
  const { stdout } = await run(process.execPath, args, { cwd: here });
  expect(stdout).toBe(printed);
});

test("DOC-4 the programs in docs/ type-check", async () => {
  const folder = await mkdtemp(join(here, "node_modules", ".docs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = await Promise.all(
    pages.map(async (page) => {
      const file = page.replace(/\.md$/, ".ts");
      await writeFile(join(folder, file), (await snippet(page))[0]);
      return file;
    }),
  );
  const compilerOptions = { noEmit: true, typeRoots: [join(root, "node_modules/@types")] };
  const tsconfig = { extends: join(root, "tsconfig.base.json"), compilerOptions, files };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  const { stdout } = await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  expect(stdout).toBe("");
});

test("DOC-4 links between the pages and to the specs lead somewhere", async () => {
  for (const page of pages) {
    const markdown = await readFile(join(docs, page), "utf8");
    for (const [, target = ""] of markdown.matchAll(/\]\(([^)#]+)/g)) await readFile(join(docs, target));
    for (const [, example = ""] of markdown.matchAll(/`(examples\/[a-z-]+)`/g)) await readdir(join(root, example));
  }
});
