/**
 * `pnpm mutations:check [rule …]`: plants each mutation of mutations.ts and runs its rule's tests in the file that it names.
 * It is killed where one of them fails; one that survives is a clause that no test guards, and the exit code is 1, as it is
 * where a rule was asked for that no bug is planted for.
 * That the tests pass without it is what `pnpm test` shows.
 */
import { join } from "node:path";
import type { TestProjectInlineConfiguration } from "vitest/config";
import {
  createVitest,
  type TestModule,
  type TestProject,
  type TestSpecification,
  type VitestPluginContext,
} from "vitest/node";
import { sourceConditions } from "../vitest.workspace.ts";
import { plantedFor, type Mutation } from "./mutations.ts";
import { root } from "./packages.ts";
import { testBundles } from "./test-bundles.ts";

const { asked, without } = plantedFor(process.argv.slice(2));
for (const rule of without) {
  console.log(
    `NONE     ${rule}: no bug is planted for this rule, so nothing was checked. Plant one in scripts/mutations.ts.`,
  );
}
if (asked.length === 0) process.exit(1);

// Programs that tests start import the sources without the mutation.
const bundles = await testBundles();

/** A project whose sources have the mutation in them. */
function mutated({ file, find, replace, test }: Mutation, index: number): TestProjectInlineConfiguration {
  const mutatedFile = join(root, "packages", file);
  const plugin = {
    name: "mutation",
    enforce: "pre" as const,
    transform(code: string, id: string) {
      if (id.split("?")[0] !== mutatedFile) return undefined;
      if (code.split(find).length !== 2) throw new Error(`${file} does not hold exactly once: ${find}`);
      return { code: code.replace(find, () => replace), map: null };
    },
    configureVitest({ defineCacheKeyGenerator }: VitestPluginContext) {
      defineCacheKeyGenerator(({ id }) => (id.split("?")[0] === mutatedFile ? false : undefined));
    },
  };
  return {
    plugins: [plugin],
    ssr: { resolve: { conditions: sourceConditions } },
    test: {
      name: `${index}`,
      root,
      include: [test],
      setupFiles: join(root, "scripts/mutation-setup.ts"),
      // A mutation that makes a test hang is killed by this.
      testTimeout: 10_000,
      // A source is transformed once for all projects, but for the one that has the mutation in it.
      fsModuleCache: true,
      fsModuleCachePath: join(root, "node_modules/.cache/proviso-mutations"),
      provide: { bundles },
    },
  };
}

/** Only the tests that carry the rule's id. */
function specificationOf({ rule, test }: Mutation, project: TestProject | undefined): TestSpecification {
  if (project === undefined) throw new Error(`There is no project for ${rule}.`);
  return project.createSpecification(join(root, test), { testNamePattern: new RegExp(`\\b${rule}\\b`) });
}

/** The first test that failed; else why none did. */
function outcomeOf(module: TestModule | undefined): { readonly killer: string } | { readonly why: string } {
  const failed = [...(module?.children.allTests("failed") ?? [])];
  const [killer] = failed.map(({ fullName }) => fullName);
  if (killer !== undefined) return { killer };
  const passed = [...(module?.children.allTests("passed") ?? [])].length;
  const errors = module?.errors().map(({ message }) => message) ?? [];
  return { why: errors.length > 0 ? errors.join("; ") : `${passed} tests passed` };
}

const started = performance.now();
const projects = asked.map(mutated);
const vitest = await createVitest("test", { config: false, root, watch: false, reporters: [], projects });
await vitest.standalone();
const specifications = asked.map((mutation, index) =>
  specificationOf(
    mutation,
    vitest.projects.find(({ name }) => name === `${index}`),
  ),
);
const { testModules } = await vitest.runTestSpecifications(specifications);
let killed = 0;
for (const [index, { rule, breaks, test }] of asked.entries()) {
  const module = testModules.find(({ project }) => project.name === `${index}`);
  const outcome = outcomeOf(module);
  if ("killer" in outcome) killed++;
  const [word, why] = "killer" in outcome ? ["killed  ", outcome.killer] : ["SURVIVED", `${test}: ${outcome.why}`];
  const seconds = ((module?.diagnostic().duration ?? 0) / 1000).toFixed(1);
  console.log(`${word} ${rule} (${breaks}, ${seconds} s): ${why}`);
}
await vitest.close();
const seconds = ((performance.now() - started) / 1000).toFixed(0);
console.log(`mutations: ${killed} of ${asked.length} killed (${seconds} s)`);
// The tests that failed have set it.
process.exitCode = killed === asked.length && without.length === 0 ? 0 : 1;
