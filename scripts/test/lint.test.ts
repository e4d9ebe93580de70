import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");
let folder: string;

/** A copy of the lint configuration over files that break one rule each. */
const files: Record<string, string> = {
  "packages/core/src/date-now.ts": "export const a = Date.now();",
  "packages/core/src/date-now-value.ts": "export const a = { now: Date.now };",
  "packages/core/src/date-now-computed.ts": 'export const a = globalThis.Date["now"]();',
  "packages/core/src/date-now-destructured.ts": "const { now } = Date;\nexport const a = now();",
  "packages/core/src/new-date.ts": "export const a = new Date();",
  "packages/core/src/date-call.ts": "export const a = Date();",
  "packages/core/src/set-timeout.ts": "export const a = setTimeout(() => undefined, 1);",
  "packages/core/src/set-timeout-global.ts": "export const a = globalThis.setTimeout(() => undefined, 1);",
  "packages/core/src/set-timeout-value.ts": "export const a = { setTimeout };",
  "packages/core/src/set-interval.ts": "export const a = setInterval(() => undefined, 1);",
  "packages/core/src/set-immediate.ts": "export const a = setImmediate(() => undefined);",
  "packages/core/src/performance.ts": "export const a = performance.now();",
  "packages/core/src/math-random.ts": "export const a = Math.random();",
  "packages/core/src/random-uuid.ts": "export const a = crypto.randomUUID();",
  "packages/core/src/random-uuid-global.ts": "export const a = globalThis.crypto.randomUUID();",
  "packages/core/src/abort-timeout.ts": "export const a = AbortSignal.timeout(1);",
  "packages/simulator/src/random-uuid-import.ts":
    'import { randomUUID } from "node:crypto";\nexport const a = randomUUID();',
  "packages/simulator/src/timers.ts":
    'import { setTimeout as wait } from "node:timers/promises";\nexport const a = wait;',
  "packages/core/src/explicit-any.ts": "export const a = (b: any): unknown => b;",
  "packages/core/src/default-export.ts": "export default 1;",
  "packages/core/src/getter.ts": "export const made = (value: number) => ({ get value() { return value; } });",
  "packages/core/src/setter.ts": "export const made = () => ({ set value(_: number) {} });",
  "packages/core/src/class-getter.ts": "export class Made { get value() { return 1; } get = () => 1; }",
  "packages/core/src/method-get.ts": "export const made = { get: () => 1, set() {} };",
  "packages/runtime/src/testing/getter.ts":
    "export const made = (value: number) => ({ get value() { return value; } });",
  "packages/core/src/cycle-a.ts": 'import { b } from "./cycle-b.ts";\nexport const a = (): number => b();',
  "packages/core/src/cycle-b.ts": 'import { a } from "./cycle-a.ts";\nexport const b = (): number => a();',
  "packages/core/src/node-builtin.ts": 'import { readFileSync } from "node:fs";\nexport const a = readFileSync;',
  "packages/runtime/src/node-builtin.ts": 'import { readFileSync } from "node:fs";\nexport const a = readFileSync;',
  "packages/core/src/floating.ts":
    "const a = async (): Promise<void> => {};\nexport const b = (): void => {\n  a();\n};",
  "packages/core/src/docstring.ts": "/** As it was given. */\nexport const a = 1;",
  "packages/core/src/docstring-of-member.ts":
    "export interface A {\n  /** What it was told. */\n  readonly b: number;\n}",
  "packages/core/src/line-comment.ts":
    "// A comment in two lines, of which the second one says\n// what nobody reads.\nexport const a = 1;",
  "packages/core/src/name.ts": "export const lastHeard = 1;",
  "packages/core/test/title.test.ts":
    'import { test } from "vitest";\ntest.each([1])("TX-1 nobody reads %s", () => {});',
  "packages/adapter-kit/src/conformance/cases/title.ts": 'export const a = { title: "LOOP-6 usage is told" };',
  "packages/core/src/long-file.ts": `${"\n".repeat(300)}export const a = 1;`,
  "packages/core/src/long-function.ts": `export function a(b: number): number {\n${"  b += 1;\n".repeat(60)}  return b;\n}`,

  // allowed
  "packages/core/src/limits/clock.ts": "export const a = (): number => Date.now() + performance.now();",
  "packages/runtime/src/environment.ts": "export const a = (): string => crypto.randomUUID() + String(Math.random());",
  "packages/runtime/src/testing/allowed.ts": "export const a = setTimeout(() => undefined, 1);",
  "packages/node/src/allowed.ts": 'import { readFileSync } from "node:fs";\nexport const a = readFileSync;',
  "packages/simulator/src/clock.ts": "export const a = (): number => Date.now();",
  "packages/core/test/allowed.test.ts": "export const a = (): number => Date.now();",
  "packages/core/bench/allowed.ts": "export const a = (): number => performance.now();",
  "examples/allowed/main.ts": "export const a = (): number => Date.now();",
  "packages/core/src/date-argument.ts": "export const a = (b: number): Date => new Date(b);",
  "packages/core/src/own-name.ts":
    "export const a = (setTimeout: (b: number) => void, clock: { now(): number }): void => setTimeout(clock.now());",
  "packages/core/src/plain.ts":
    "/** The number of a turn, from 1. */\nexport const a = 1;\n// oxlint-disable-next-line no-var -- as it has to be\nvar b = a;\nexport { b };",
  "packages/core/src/sentence.ts":
    "// A sentence that goes on\n// as one comment in its second line.\nexport const a = 1;",
  "packages/core/src/type-cycle-a.ts":
    'import type { B } from "./type-cycle-b.ts";\nexport type A = { b?: B };\nexport const a = 1;',
  "packages/core/src/type-cycle-b.ts":
    'import { a } from "./type-cycle-a.ts";\nexport type B = { a: number };\nexport const b = a;',
};

let found: Record<string, string[]>;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "proviso-lint-"));
  for (const name of [".oxlintrc.json", "scripts/lint", "tsconfig.base.json"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(
    join(folder, "tsconfig.json"),
    '{ "extends": "./tsconfig.base.json", "include": ["packages", "examples"] }',
  );
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), `${text}\n`);
  }
  found = lint();
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

function lint(): Record<string, string[]> {
  const byFile: Record<string, string[]> = {};
  for (const { filename, code } of run().diagnostics) (byFile[filename] ??= []).push(code);
  return byFile;
}

function run(): { diagnostics: { filename: string; code: string }[] } {
  const oxlint = join(root, "node_modules/oxlint/bin/oxlint");
  try {
    return JSON.parse(
      execFileSync(process.execPath, [oxlint, "--format=json", "packages", "examples"], {
        cwd: folder,
        encoding: "utf8",
      }),
    );
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout);
  }
}

test.each([
  ["packages/core/src/date-now.ts", "proviso(no-ambient)"],
  ["packages/core/src/date-now-value.ts", "proviso(no-ambient)"],
  ["packages/core/src/date-now-computed.ts", "proviso(no-ambient)"],
  ["packages/core/src/date-now-destructured.ts", "proviso(no-ambient)"],
  ["packages/core/src/new-date.ts", "proviso(no-ambient)"],
  ["packages/core/src/date-call.ts", "proviso(no-ambient)"],
  ["packages/core/src/set-timeout.ts", "proviso(no-ambient)"],
  ["packages/core/src/set-timeout-global.ts", "proviso(no-ambient)"],
  ["packages/core/src/set-timeout-value.ts", "proviso(no-ambient)"],
  ["packages/core/src/set-interval.ts", "proviso(no-ambient)"],
  ["packages/core/src/set-immediate.ts", "proviso(no-ambient)"],
  ["packages/core/src/performance.ts", "proviso(no-ambient)"],
  ["packages/core/src/math-random.ts", "proviso(no-ambient)"],
  ["packages/core/src/random-uuid.ts", "proviso(no-ambient)"],
  ["packages/core/src/random-uuid-global.ts", "proviso(no-ambient)"],
  ["packages/core/src/abort-timeout.ts", "proviso(no-ambient)"],
  ["packages/simulator/src/random-uuid-import.ts", "proviso(no-ambient)"],
  ["packages/simulator/src/timers.ts", "proviso(no-ambient)"],
  ["packages/core/src/getter.ts", "proviso(no-accessors-in-literals)"],
  ["packages/core/src/setter.ts", "proviso(no-accessors-in-literals)"],
  ["packages/core/src/explicit-any.ts", "typescript(no-explicit-any)"],
  ["packages/core/src/default-export.ts", "import(no-default-export)"],
  ["packages/core/src/cycle-a.ts", "import(no-cycle)"],
  ["packages/core/src/node-builtin.ts", "import(no-nodejs-modules)"],
  ["packages/runtime/src/node-builtin.ts", "import(no-nodejs-modules)"],
  ["packages/core/src/floating.ts", "typescript(no-floating-promises)"],
  ["packages/core/src/docstring.ts", "proviso(plain-words)"],
  ["packages/core/src/docstring-of-member.ts", "proviso(plain-words)"],
  ["packages/core/src/line-comment.ts", "proviso(plain-words)"],
  ["packages/core/src/name.ts", "proviso(plain-words)"],
  ["packages/core/test/title.test.ts", "proviso(plain-titles)"],
  ["packages/adapter-kit/src/conformance/cases/title.ts", "proviso(plain-titles)"],
  ["packages/core/src/long-file.ts", "eslint(max-lines)"],
  ["packages/core/src/long-function.ts", "eslint(max-lines-per-function)"],
])("%s is refused by %s", (file, rule) => {
  expect(found[file]).toContain(rule);
});

test.each([
  "packages/core/src/limits/clock.ts",
  "packages/runtime/src/environment.ts",
  "packages/runtime/src/testing/allowed.ts",
  "packages/node/src/allowed.ts",
  "packages/simulator/src/clock.ts",
  "packages/core/test/allowed.test.ts",
  "packages/core/bench/allowed.ts",
  "examples/allowed/main.ts",
  "packages/core/src/date-argument.ts",
  "packages/core/src/own-name.ts",
  "packages/core/src/plain.ts",
  "packages/core/src/sentence.ts",
  "packages/core/src/class-getter.ts",
  "packages/core/src/method-get.ts",
  "packages/runtime/src/testing/getter.ts",
  "packages/core/src/type-cycle-a.ts",
  "packages/core/src/type-cycle-b.ts",
])("%s is accepted", (file) => {
  expect(found[file]).toBeUndefined();
});
