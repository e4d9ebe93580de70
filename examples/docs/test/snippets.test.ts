import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { isTest, programs, type Program } from "../../../scripts/install/readme.ts";
import { fromSources } from "../../../scripts/from-sources.ts";

vi.setConfig({ testTimeout: 60_000 });

const run = promisify(execFile);
const here = new URL("../", import.meta.url).pathname;
const root = new URL("../../../", import.meta.url).pathname;
const docs = join(root, "docs");
const index = "README.md";
const files = (await readdir(docs)).filter((name) => name.endsWith(".md"));
const pages = files.filter((name) => name !== index);

async function programsOf(page: string): Promise<readonly (Program & { page: string; number: number })[]> {
  const markdown = await readFile(join(docs, page), "utf8");
  return programs(markdown).map((program, at) => ({ ...program, page, number: at + 1 }));
}

const all = (await Promise.all(pages.map(programsOf))).flat();

test.each(pages)("DOC-4 docs/%s has a program", (page) => {
  expect(all.filter((program) => program.page === page)).not.toEqual([]);
});

test.concurrent.each(all.filter((program) => !isTest(program)))(
  "DOC-4 program $number of docs/$page runs and prints what stands below it",
  async ({ text, prints }) => {
    // The packages that it imports are this example's; it is written nowhere.
    const args = [...fromSources, "--input-type=module-typescript", "--eval", text];
    const { stdout } = await run(process.execPath, args, { cwd: here });
    expect(stdout).toBe(prints);
  },
);

/** The folder has the packages that this example has, and is gone when the test is over. */
async function folderFor(named: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(here, "node_modules", ".docs-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(named)) await writeFile(join(folder, name), text);
  return folder;
}

test.each(all.filter(isTest))(
  "DOC-4 the tests of docs/$page (program $number) pass, and are those that stand below them",
  async ({ text, prints }) => {
    const config = 'export default { ssr: { resolve: { conditions: ["@proviso/source", "node", "import"] } } };';
    const folder = await folderFor({ "guide.test.ts": text, "vitest.config.mjs": config });
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", "--root", folder, "--reporter=verbose"];
    const { stdout } = await run(process.execPath, args, { cwd: folder, env: { ...process.env, NO_COLOR: "1" } });
    const passed = stdout.split("\n").filter((line) => line.includes("✓"));
    expect(passed.map((line) => `${line.trim().replace(/ \d+ms$/, "")}\n`).join("")).toBe(prints);
  },
);

test("DOC-4 the programs in docs/ type-check", async () => {
  const texts = all.map(({ page, number, text }) => [page.replace(/\.md$/, `-${number}.ts`), text] as const);
  const compilerOptions = { noEmit: true, typeRoots: [join(root, "node_modules/@types")] };
  const tsconfig = { extends: join(root, "tsconfig.base.json"), compilerOptions, files: texts.map(([name]) => name) };
  const folder = await folderFor({
    ...Object.fromEntries(texts),
    "tsconfig.json": JSON.stringify(tsconfig),
    "package.json": '{ "type": "module" }',
  });
  const { stdout } = await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  expect(stdout).toBe("");
});

test("DOC-4 links between the pages and to the specs lead somewhere", async () => {
  for (const page of files) {
    const markdown = await readFile(join(docs, page), "utf8");
    for (const [, target = ""] of markdown.matchAll(/\]\(([^)#]+)/g)) {
      if (!/^https?:/.test(target)) await readFile(join(docs, target));
    }
    for (const [, example = ""] of markdown.matchAll(/`(examples\/[a-z-]+)`/g)) await readdir(join(root, example));
  }
});

test("DOC-4 the reading order names every page once", async () => {
  const markdown = await readFile(join(docs, index), "utf8");
  const linked = [...markdown.matchAll(/\]\(([a-z-]+\.md)\)/g)].map(([, page = ""]) => page);
  expect(linked.toSorted()).toEqual(pages.toSorted());
});
