import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { inspect, promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { isTest } from "../../../scripts/install/readme.ts";
import { docs, files, guidePrograms, index, pages, root } from "./guide-programs.ts";
import { printedBy } from "./run-programs.ts";
import { folderFor } from "./temporary-folder.ts";

vi.setConfig({ testTimeout: 300_000 });

const run = promisify(execFile);

test.each(pages)("DOC-4 docs/%s has a program", (page) => {
  expect(guidePrograms.filter((program) => program.page === page)).not.toEqual([]);
});

const programs = guidePrograms.filter((program) => !isTest(program));

const printed = printedBy(programs);
const pagesWithPrograms = [...Map.groupBy(programs, ({ page }) => page)].map(([page, own]) => ({ page, own }));

test.concurrent.each(pagesWithPrograms)(
  "DOC-4 each program of docs/$page runs and prints what stands below it",
  async ({ own }) => {
    for (const program of own) expect(await printed(program)).toBe(program.prints);
  },
);

test.each(guidePrograms.filter(isTest))(
  "DOC-4 the tests of docs/$page (program $number) pass, and are those that stand below them",
  async ({ text, prints }) => {
    // Node itself loads the packages, from their bundles: vitest would transform some hundred sources.
    const test = { execArgv: fromSources, server: { deps: { external: [/@proviso/, /\/packages\//] } } };
    const config = `export default { ssr: { resolve: { conditions: ["@proviso/source", "node", "import"] } }, test: ${inspect(test, { depth: null })} };`;
    const folder = await folderFor({ "guide.test.ts": text, "vitest.config.mjs": config });
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const args = [vitest, "run", "--root", folder, "--reporter=verbose"];
    const { stdout } = await run(process.execPath, args, { cwd: folder, env: { ...process.env, NO_COLOR: "1" } });
    const passed = stdout.split("\n").filter((line) => line.includes("✓"));
    expect(passed.map((line) => `${line.trim().replace(/ \d+ms$/, "")}\n`).join("")).toBe(prints);
  },
);

test("DOC-4 no program starts a file that a reader does not have", () => {
  for (const { page, text } of guidePrograms)
    for (const [args] of text.matchAll(/args: \[[^\]]*\]/g))
      expect([page, args]).not.toEqual([page, expect.stringMatching(/\.[cm]?[jt]s"/)]);
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
