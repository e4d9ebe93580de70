import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

vi.setConfig({ testTimeout: 60_000 });

const run = promisify(execFile);
const here = new URL("../", import.meta.url).pathname;
const root = new URL("../../../", import.meta.url).pathname;

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

const sources = (await readdir(join(root, "packages"), { recursive: true })).filter((path) =>
  /^[\w-]+\/src\/.*\.ts$/.test(path),
);
const texts = await Promise.all(sources.map((path) => readFile(join(root, "packages", path), "utf8")));
const examples = texts.flatMap(examplesIn);

/** The first functions that an application, an adapter or a test calls. */
const mainEntryPoints = [
  "definePrompt",
  "defineTool",
  "defineSlice",
  "defineEvent",
  "resourceKey",
  "provide",
  "trackBudget",
  "modelAdapter",
  "agentAdapter",
  "openResources",
  "transaction",
  "scriptedModel",
  "openai",
  "aiSdk",
  "litellm",
  "acpAgent",
  "commandLine",
  "hostFilesystem",
  "sqliteResource",
  "startSimulator",
  "definePrimitive",
  "estimate",
  "requireApproval",
];

test.each(mainEntryPoints)("DOC-24 the docstring of %s has an example", (name) => {
  expect(examples.filter(({ of }) => of === name)).toHaveLength(1);
});

/** Those that need a service, or a program that is not here. */
const notRun = ["acpAgent", "aiSdk", "litellm", "openai"];

test("DOC-24 every other example prints something", () => {
  const silent = examples.filter(({ prints }) => prints === "").map(({ of }) => of);
  expect(silent.toSorted()).toEqual(notRun);
});

test.concurrent.each(examples.filter(({ prints }) => prints !== ""))(
  "DOC-24 the example of $of runs and prints what its comments expect",
  async ({ text, prints }) => {
    const args = [...fromSources, "--input-type=module-typescript", "--eval", text];
    const { stdout } = await run(process.execPath, args, { cwd: here });
    expect(stdout).toBe(prints);
  },
);

test("DOC-24 the examples of docstrings type-check", async () => {
  const folder = await mkdtemp(join(here, "node_modules", ".examples-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const files = examples.map(({ of }) => `${of}.ts`);
  const compilerOptions = { noEmit: true, typeRoots: [join(root, "node_modules/@types")] };
  const tsconfig = { extends: join(root, "tsconfig.base.json"), compilerOptions, files };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  for (const { of, text } of examples) await writeFile(join(folder, `${of}.ts`), text);
  const { stdout } = await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).catch(
    (error: unknown) => error as { readonly stdout: string },
  );
  expect(stdout).toBe("");
});
