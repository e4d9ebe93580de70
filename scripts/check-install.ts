/**
 * `pnpm install:check`: what newcomers do, with the tarballs that would be published. In empty folders outside of the
 * repository, on the lowest Node of `engines`, on the Node that runs this, on Bun and on Deno: installs what README says,
 * runs its programs, imports each entry of each package and compiles it with its declarations, keeps and reads files of each kind; and in projects that have older versions of peers installs them
 * all and runs the conformance suite over the older models. What needs nothing of Node runs in a worker and in a browser.
 * A runtime that cannot be started here is skipped with the reason.
 */
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { compilerOptions, firstProgramName, installLine, isTest, programs, type Program } from "./install/readme.ts";
import { olderProjects, writeConformance } from "./install/older.ts";
import { fetched, node, oldestCompiler, others, ownNode, workerd, type Runtime } from "./install/runtimes.ts";
import { anywhere } from "./install/anywhere.ts";
import { bundlers, printedByBundles } from "./install/bundlers.ts";
import { bundleForAnywhere, runInBrowser, runInProcess, runInWorker } from "./install/hosts.ts";
import { findChromium } from "./chromium.ts";
import { countFaults, output, reasonOf, skip, step } from "./install/steps.ts";
import { entriesOf, lowestNode, manifestIn, pack, packagesIn, root } from "./packages.ts";

const packages = packagesIn(root);
const readme = readFileSync(join(root, "README.md"), "utf8");
const entries = packages.flatMap(({ manifest }) => entriesOf(manifest));
const ours = new Set(packages.map(({ manifest }) => manifest.name));
const typesOfNode = asHere("@types/node");
/** The optional peer that `leanFetch` of adapter-openai needs. */
const undici = asHere("undici", join(root, "packages/adapter-openai"));
/** The optional peers of @proviso/worker. */
const queues = ["bullmq", "ioredis", "@restatedev/restate-sdk"].map((name) =>
  asHere(name, join(root, "packages/worker")),
);
/** In the version that the repository has. */
function asHere(name: string, folder: string = root): string {
  return `${name}@${manifestIn(join(folder, "node_modules", name)).version}`;
}

const quietly = ["--no-audit", "--no-fund", "--prefer-offline", "--ignore-scripts"];
const folder = mkdtempSync(join(tmpdir(), "proviso-install-"));

async function check(): Promise<void> {
  const alternatives = Promise.all(
    others.map((other) => fetched(other).catch((error: unknown) => skip(other.name, reasonOf(error)))),
  );
  const lowest = await step("fetch the lowest Node of engines", () =>
    fetched(node(lowestNode(packages[0]?.manifest.engines?.node))),
  );
  const tarballs = await step(`pack ${packages.length} packages`, async () => pack(packages, folder));
  if (tarballs !== undefined && lowest !== undefined) {
    const runtimes = alternatives.then((found) => [lowest, ownNode, ...found.filter((one) => one !== undefined)]);
    await Promise.all([
      firstSteps(tarballs, runtimes, lowest).then(() => besideOlder([...tarballs.values()])),
      packagesOfAFirstProgram(tarballs),
      everything([...tarballs.values()], runtimes, lowest),
      guides([...tarballs.values()]),
    ]);
  }
  await alternatives;
}

/** As README says: an empty folder, `npm init -y`, its line of Install, and its first program by the name it gives. */
async function firstSteps(
  tarballs: ReadonlyMap<string, string>,
  runtimes: Promise<readonly Runtime[]>,
  lowest: Runtime,
): Promise<void> {
  const here = join(folder, "first");
  const names = withOurDependencies(installLine(readme)).map((name) => tarballs.get(name) ?? name);
  const installed = await step(`install what README says, with ${ownNode.name}`, () =>
    install(here, [...names, typesOfNode], ownNode),
  );
  if (installed === undefined) return;
  const name = firstProgramName(readme);
  const first = new Map(
    programs(readme)
      .slice(0, 1)
      .map((program) => [name, program]),
  );
  const compiled = await step(`compile ${name}`, () => compile(here, first));
  if (compiled === undefined) return;
  for (const runtime of await runtimes) {
    await step(`README's first program as ${name} on ${runtime.name}`, () =>
      runAll(here, first, runtime, runtime === lowest),
    );
  }
  await step(`README's first program, bundled by ${bundlers.join(", ")}`, async () => {
    await output("npm", ["install", ...quietly, ...bundlers], here, dirname(ownNode.command));
    const prints = first.get(name)?.prints;
    for (const [bundler, printed] of await printedByBundles(here, compiledName(name))) {
      if (printed !== prints) throw new Error(`What ${bundler} made prints\n${printed}and not\n${prints}`);
    }
  });
}

/** How many packages the line of Install brings, ours included. */
const mostPackages = 10;

/** Each package is code that has to be trusted and kept current. */
async function packagesOfAFirstProgram(tarballs: ReadonlyMap<string, string>): Promise<void> {
  const here = join(folder, "count");
  const names = withOurDependencies(installLine(readme)).map((name) => tarballs.get(name) ?? name);
  await step(`what README says installs at most ${mostPackages} packages`, async () => {
    await install(here, names, ownNode);
    const installed = installedIn(here);
    if (installed.length <= mostPackages) return;
    throw new Error(`It installs ${installed.length} packages: ${installed.join(", ")}.`);
  });
}

/** The folders of all packages below node_modules, as npm recorded them. */
function installedIn(here: string): readonly string[] {
  const lock = JSON.parse(readFileSync(join(here, "node_modules/.package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, unknown>>;
  };
  return Object.keys(lock.packages);
}

/** Those and what they depend on of our packages: no registry has these before the first release. */
function withOurDependencies(names: readonly string[]): readonly string[] {
  const manifests = packages.map(({ manifest }) => manifest).filter(({ name }) => names.includes(name));
  const needed = manifests.flatMap(({ dependencies = {} }) =>
    Object.keys(dependencies).filter((name) => ours.has(name)),
  );
  const all = [...new Set([...names, ...needed])];
  return all.length === names.length ? names : withOurDependencies(all);
}

/** All packages at once, and vitest: an older one than 5 lets nobody import it but its own runner. */
async function everything(
  tarballs: readonly string[],
  runtimes: Promise<readonly Runtime[]>,
  lowest: Runtime,
): Promise<void> {
  const here = join(folder, "all");
  const names = [...tarballs, "zod", asHere("vitest"), undici, ...queues, typesOfNode];
  const installed = await step(`install all packages, with ${lowest.name}`, () => install(here, names, lowest));
  if (installed === undefined) return;
  for (const runtime of await runtimes) {
    await step(`import ${entries.length} entries on ${runtime.name}`, () => importAll(here, runtime));
  }
  for (const runtime of [lowest, ownNode]) {
    await step(`require them, but for those of evals, on ${runtime.name}`, () => requireAll(here, runtime));
  }
  // Without `skipLibCheck` the compiler reads every declaration that they name, those of dependencies too.
  const text = entries.map((entry, at) => `export * as entry${at} from "${entry}";`).join("\n");
  const declared = new Map([["entries.mts", { text, prints: "" }]]);
  await step(`compile ${entries.length} entries with all their declarations`, () => compile(here, declared));
  const all = new Map(programs(readme).map((program, index) => [`program-${index + 1}.mts`, program]));
  const older = await fetched(oldestCompiler).catch((error: unknown) => skip(oldestCompiler.name, reasonOf(error)));
  if (older !== undefined) {
    const both = new Map([...declared, ...all]);
    await step(`compile the entries and README's programs with ${older.name}`, () =>
      compile(here, both, older.command),
    );
  }
  const compiled = await step(`compile README's ${all.size} programs`, () => compile(here, all));
  if (compiled === undefined) return;
  for (const runtime of [lowest, ownNode]) {
    await step(`README's ${all.size} programs and the commands on ${runtime.name}`, async () => {
      await runAll(here, all, runtime, runtime === lowest);
      await startCommands(here, runtime);
    });
  }
  cpSync(join(root, "scripts/install/anywhere.mjs"), join(here, "anywhere.mjs"));
  for (const runtime of await runtimes) {
    await step(`what is kept in files on ${runtime.name}`, () => keepAndRead(here, runtime));
    await step(`a program for any host on ${runtime.name}`, () => runInProcess(here, runtime));
  }
  await inWorkersAndBrowsers(here);
}

async function inWorkersAndBrowsers(here: string): Promise<void> {
  const code = await step(`bundle ${anywhere.length} entries for workers and browsers`, () => bundleForAnywhere(here));
  if (code === undefined) return;
  const worker = await fetched(workerd).catch((error: unknown) => skip(workerd.name, reasonOf(error)));
  if (worker !== undefined) {
    for (const flags of [[], ["nodejs_compat"]]) {
      const how = flags.length === 0 ? "" : ` with ${flags.join()}`;
      await step(`a program for any host on ${worker.name}${how}`, () => runInWorker(here, code, worker, flags));
    }
  }
  const chromium = findChromium();
  if (chromium === undefined) skip("a browser", "install Debian's package chromium, or name one in CHROMIUM");
  else await step("a program for any host in a browser", () => runInBrowser(code, chromium));
}

/** The programs of the guides, outside of the repository, with what else they import in the versions that it has. */
async function guides(tarballs: readonly string[]): Promise<void> {
  const here = join(folder, "guides");
  const example = join(root, "examples/docs");
  const imported = Object.keys(manifestIn(example).dependencies ?? {}).filter((name) => !name.startsWith("@proviso/"));
  // Prices and the sizes of pictures are optional: guides show what is printed with them.
  const prices = asHere("@pydantic/genai-prices", join(root, "packages/estimation"));
  const sizes = asHere("image-size", join(root, "packages/runtime"));
  const others = [
    ...imported.map((name) => asHere(name, example)),
    prices,
    sizes,
    ...queues,
    asHere("vitest"),
    typesOfNode,
  ];
  const names = [...tarballs, ...others];
  const installed = await step(`install what the guides import, with ${ownNode.name}`, () =>
    install(here, names, ownNode),
  );
  if (installed === undefined) return;
  const all = globSync("docs/*.md", { cwd: root }).flatMap((page) =>
    programs(readFileSync(join(root, page), "utf8")).map(
      (program, at) => [`${basename(page, ".md")}-${at + 1}`, program] as const,
    ),
  );
  const tests = all.filter(([, program]) => isTest(program));
  const ordinary = all.filter(([, program]) => !isTest(program));
  await step(`the guides' ${ordinary.length} programs on ${ownNode.name}`, () => {
    const named = new Map(ordinary.map(([name, program]) => [`${name}.mts`, program]));
    for (const [name, { text }] of named) writeFileSync(join(here, name), text);
    return runAll(here, named, ownNode, false);
  });
  await step(`the guides' ${tests.length} files of tests on ${ownNode.name}`, () => {
    for (const [name, { text }] of tests) writeFileSync(join(here, `${name}.test.ts`), text);
    return output(ownNode.command, ["node_modules/vitest/vitest.mjs", "run"], here);
  });
}

/** With `--engine-strict`, a dependency that wants a newer Node is a failure too. */
async function install(here: string, names: readonly string[], { command }: Runtime): Promise<string> {
  mkdirSync(here);
  const bin = dirname(command);
  await output("npm", ["init", "-y"], here, bin);
  return output("npm", ["install", "--engine-strict", ...quietly, ...names], here, bin);
}

/** What the lowest Node, which has no TypeScript, runs instead: README says to compile there. With it, the types are checked. */
async function compile(
  here: string,
  named: ReadonlyMap<string, Program>,
  compiler = join(root, "node_modules/.bin/tsc"),
): Promise<string> {
  for (const [name, { text }] of named) writeFileSync(join(here, name), text);
  const options = ["--strict", ...compilerOptions(readme), "--outDir", "compiled"];
  return output(compiler, [...options, ...named.keys()], here);
}

function compiledName(name: string): string {
  return join("compiled", name.replace(/\.mts$/, ".mjs"));
}

/** @throws where a program does not print what README says. */
async function runAll(
  here: string,
  named: ReadonlyMap<string, Program>,
  { command, args }: Runtime,
  asCompiled: boolean,
): Promise<void> {
  for (const [name, program] of named) {
    const file = asCompiled ? compiledName(name) : name;
    const printed = await output(command, [...args, file], here);
    if (printed !== program.prints) throw new Error(`${file} prints\n${printed}and not\n${program.prints}`);
  }
}

async function importAll(here: string, { command, args }: Runtime): Promise<void> {
  const lines = entries.map((entry) => `await import("${entry}").catch((error) => failed.push("${entry}: " + error));`);
  writeFileSync(
    join(here, "entries.mjs"),
    ["const failed = [];", ...lines, 'console.log(failed.join("\\n"));'].join("\n"),
  );
  const failed = (await output(command, [...args, "entries.mjs"], here)).trim();
  if (failed !== "") throw new Error(failed);
}

/** From CommonJS: not what waits for another module while it is loaded, as the quantiles of evals do. */
async function requireAll(here: string, { command, args }: Runtime): Promise<void> {
  const names = entries.filter((entry) => !entry.startsWith("@proviso/evals"));
  writeFileSync(join(here, "entries.cjs"), `for (const name of ${JSON.stringify(names)}) require(name);`);
  await output(command, [...args, "entries.cjs"], here);
}

async function keepAndRead(here: string, { command, args }: Runtime): Promise<void> {
  const program = "kept.mjs";
  cpSync(join(root, "scripts/install", program), join(here, program));
  await output(command, [...args, program], here);
}

async function startCommands(here: string, { command }: Runtime): Promise<void> {
  for (const { manifest } of packages) {
    for (const file of Object.values(manifest.bin ?? {})) {
      await output(command, [join("node_modules", manifest.name, file), "--help"], here);
    }
  }
}

/** npm refuses a peer out of its range (ERESOLVE), also an optional one. What is installed then has to work. */
async function besideOlder(tarballs: readonly string[]): Promise<void> {
  for (const { name, dependencies, passedOver } of olderProjects) {
    const here = join(folder, name);
    mkdirSync(here);
    writeFileSync(join(here, "package.json"), JSON.stringify({ dependencies }));
    const installed = await step(`install all packages beside ${name}`, () =>
      output("npm", ["install", ...quietly, ...tarballs], here, dirname(ownNode.command)),
    );
    if (installed === undefined) continue;
    writeConformance(here, root);
    const args = ["node_modules/vitest/vitest.mjs", "run", "-t", `^(?!.*(?:${passedOver.join("|")}))`];
    await step(`the conformance suite of adapter-ai-sdk beside ${name}`, () => output(ownNode.command, args, here));
  }
}

const started = performance.now();
try {
  await check();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`install: ${countFaults()} faults (${((performance.now() - started) / 1000).toFixed(0)} s)`);
process.exitCode = countFaults() > 0 ? 1 : 0;
