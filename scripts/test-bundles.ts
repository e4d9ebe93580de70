/**
 * What programs that tests start load instead of some hundred sources: of each package one file an entry, as users get
 * them, and of dependencies that consist of very many files one too. Finding, reading and stripping those took most of the
 * time of such a program.
 *
 * 1. A bundle is used for the very sources that it was made of: its folder's name is their hash.
 * 2. Only a whole one is used: it is written beside its place, then renamed.
 * 3. What was used within the last day stays: runs of several branches can share a folder.
 */
import { createHash } from "node:crypto";
import {
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { bundle } from "./bundle.ts";
import { packagesIn, root, type Package } from "./packages.ts";

const dayMs = 24 * 60 * 60 * 1_000;
/** Dependencies of many files, and a folder from which Node finds each. */
const dependencies = {
  "packages/adapter-ai-sdk": ["zod", "zod/v4", "zod/v3", "ai", "@ai-sdk/provider"],
  "packages/adapter-openai": ["openai"],
  "packages/adapter-process": [
    "@agentclientprotocol/sdk",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
  ],
  "examples/task-agent": ["@ai-sdk/google"],
};

/** The URL of the module that a program imports first (`--import`), so that all that it imports comes from bundles. */
export async function testBundles(): Promise<string> {
  const all = await Promise.all([...packagesIn(root).map(bundledPackage), bundledDependencies()]);
  const text = register(Object.fromEntries(all.flat()));
  const folder = await made(join(root, "node_modules/.cache/proviso-tests"), text, (made) =>
    writeFileSync(join(made, "register.mjs"), text),
  );
  return pathToFileURL(join(folder, "register.mjs")).href;
}

function register(bundled: Readonly<Record<string, string>>): string {
  return `import { registerHooks } from "node:module";
const bundled = ${JSON.stringify(bundled, undefined, 2)};
registerHooks({
  resolve(name, context, next) {
    const found = next(name, context);
    const url = bundled[found.url];
    return url === undefined ? found : { ...found, url, format: "module" };
  },
});
`;
}

type Replacements = readonly (readonly [source: string, bundle: string])[];

/** The sources of a package's entries, and the bundle of each. */
export async function bundledPackage({ folder, manifest }: Package): Promise<Replacements> {
  const sources = globSync("src/**/*.ts", { cwd: folder }).toSorted();
  const text = ["package.json", ...sources].map((path) => `${path}\n${readFileSync(join(folder, path), "utf8")}`);
  const bundles = await made(join(folder, "node_modules/.cache/proviso-tests"), text.join("\n") + tools(), (to) =>
    bundle(folder, to),
  );
  return Object.values(manifest.exports).flatMap((entry) => {
    if (typeof entry === "string") return [];
    const built = entry.default.slice("./dist/".length);
    return [[urlOf(join(folder, entry["@proviso/source"])), urlOf(join(bundles, built))] as const];
  });
}

async function bundledDependencies(): Promise<Replacements> {
  const wanted = Object.entries(dependencies).flatMap(([folder, names]) => names.map((name) => ({ folder, name })));
  const key = JSON.stringify(wanted) + tools();
  const folder = await made(join(root, "node_modules/.cache/proviso-tests"), key, async (to) => {
    const bundled = await rolldown({
      input: wanted.map(({ name }) => name),
      platform: "node",
      plugins: [
        {
          name: "from-the-package",
          resolveId(id, importer) {
            const found = importer === undefined ? wanted.find(({ name }) => name === id) : undefined;
            return found && this.resolve(id, join(root, found.folder, "package.json"), { skipSelf: true });
          },
        },
      ],
    });
    const { output } = await bundled.write({
      dir: to,
      format: "esm",
      entryFileNames: "[hash].mjs",
      chunkFileNames: "[hash].mjs",
    });
    await bundled.close();
    const entries = output.flatMap((chunk) =>
      chunk.type === "chunk" && chunk.isEntry ? [[chunk.facadeModuleId, chunk.fileName]] : [],
    );
    writeFileSync(join(to, "entries.json"), JSON.stringify(entries));
  });
  const entries = JSON.parse(readFileSync(join(folder, "entries.json"), "utf8")) as [string, string][];
  return entries.map(([source, file]) => [urlOf(source), urlOf(join(folder, file))]);
}

/** What else a bundle depends on. */
function tools(): string {
  const files = ["pnpm-lock.yaml", "scripts/bundle.ts", "scripts/test-bundles.ts"];
  return files.map((path) => readFileSync(join(root, path), "utf8")).join("\n");
}

/** The folder in `cache` for `key`, made by `make` where it is not there. */
async function made(cache: string, key: string, make: (to: string) => unknown): Promise<string> {
  // Bundles name files by their whole path: those of a checkout that was copied or moved are made again.
  const folder = join(cache, createHash("sha256").update(`${root}\n${key}`).digest("hex").slice(0, 16));
  const now = new Date();
  try {
    utimesSync(folder, now, now);
    return folder;
  } catch {
    // It has to be made.
  }
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { recursive: true });
  await make(unfinished);
  try {
    renameSync(unfinished, folder);
  } catch {
    // Another run has made it meanwhile.
    rmSync(unfinished, { recursive: true });
  }
  for (const name of readdirSync(cache)) {
    const path = join(cache, name);
    if (now.getTime() - statSync(path).mtimeMs > dayMs) rmSync(path, { recursive: true, force: true });
  }
  return folder;
}

function urlOf(path: string): string {
  return pathToFileURL(path).href;
}
