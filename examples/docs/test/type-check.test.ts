import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { examples } from "./docstring-programs.ts";
import { guidePrograms, root } from "./guide-programs.ts";
import { folderFor } from "./temporary-folder.ts";

const run = promisify(execFile);

test("DOC-4 DOC-24 the programs in docs/ and the examples of docstrings type-check", async () => {
  // One compiler for all: most of its time goes into the packages that they import.
  const texts = [
    ...guidePrograms.map(({ page, number, text }) => [page.replace(/\.md$/, `-${number}.ts`), text] as const),
    ...examples.map(({ of, text }) => [`example-of-${of}.ts`, text] as const),
  ];
  // The libraries are those of the oldest Node, as docs/runtimes.md has it for programs that are compiled there. The
  // sources of the packages, which are compiled for newer ones, are type-checked elsewhere.
  const libraries = { target: "es2023", lib: ["es2023"], types: ["node"] };
  const compilerOptions = { noEmit: true, typeRoots: [join(root, "node_modules/@types")], ...libraries };
  const tsconfig = { extends: join(root, "tsconfig.base.json"), compilerOptions, files: texts.map(([name]) => name) };
  const folder = await folderFor({
    ...Object.fromEntries(texts),
    "tsconfig.json": JSON.stringify(tsconfig),
    "package.json": '{ "type": "module" }',
  });
  // It lives for seconds: what it does not collect and does not check side by side saves a third of its time.
  const env = { ...process.env, GOGC: "off" };
  const compiling = run(join(root, "node_modules/.bin/tsc"), ["-p", folder, "--checkers", "1"], { env });
  const faults = await compiling.then(
    ({ stdout }) => stdout,
    (error: Error & { readonly stdout: string }) => error.stdout || error.message,
  );
  expect(faults.split("\n").filter((line) => !/^packages\/|^\s*$/.test(line))).toEqual([]);
});
