/**
 * `pnpm verify [--without-tests]`: everything CI runs, by the names of the scripts in package.json. `.ci/run` runs the
 * tests itself, once with a slice of the large matrices and once with all of them, and counts both.
 * The output of a step is shown when it fails; that of the installation and of the tests always.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "..");
const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: Record<string, string> };
const steps = [
  "build",
  "typecheck",
  "lint",
  "format:check",
  "knip",
  "specs:check",
  "api:check",
  "supply:check",
  "mutations:check",
  "pack:check",
  "install:check",
  "test",
  "test:exhaustive",
];
const tests = new Set(["test", "test:exhaustive"]);
/** What they skip has to be seen. */
const shown = new Set(["install:check", ...tests]);
const path = [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter);
const failed: string[] = [];

for (const step of process.argv.includes("--without-tests") ? steps.filter((name) => !tests.has(name)) : steps) {
  const started = Date.now();
  const { status, stdout, stderr } = spawnSync(scripts[step] ?? `echo no script ${step}; exit 1`, {
    cwd: root,
    env: { ...process.env, PATH: path },
    encoding: "utf8",
    shell: true,
    stdio: shown.has(step) ? "inherit" : ["ignore", "pipe", "pipe"],
    maxBuffer: 2 ** 28,
  });
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${step} (${seconds} s)`);
  if (status === 0) continue;
  failed.push(step);
  if (!shown.has(step)) console.log(`${stdout}${stderr}`.trimEnd());
}

if (failed.length > 0) console.error(`verify failed: ${failed.join(", ")}`);
process.exitCode = failed.length > 0 ? 1 : 0;
