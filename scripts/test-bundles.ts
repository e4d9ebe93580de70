/**
 * What programs that tests start load instead of some hundred sources: one file for each package's entry and few for what
 * they share, and of dependencies that consist of very many files one too. Finding, reading and stripping those took most
 * of the time of such a program, and a program with each package's own bundles, as users get them, took twice as long.
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
import { rolldown, type InputOptions, type Plugin } from "rolldown";
import { lowestNode, packagesIn, root, type Package } from "./packages.ts";

const cache = join(root, "node_modules/.cache/proviso-tests");
const dayMs = 24 * 60 * 60 * 1_000;
/** Dependencies of many files, and a folder from which Node finds each. */
const dependencies = {
  "packages/adapter-ai-sdk": ["zod", "zod/v4", "zod/v3", "ai", "@ai-sdk/provider"],
  "packages/adapter-openai": ["openai"],
  "packages/adapter-process": [
    "@agentclientprotocol/sdk",
    "@modelcontextprotocol/client",
    "@modelcontextprotocol/server",
    "@modelcontextprotocol/server/stdio",
  ],
  "examples/task-agent": ["@ai-sdk/google"],
};

/** The URL of the module that a program imports first (`--import`), so that all that it imports comes from bundles. */
export async function testBundles(): Promise<string> {
  const all = await Promise.all([bundledPackages(packagesIn(root)), bundledDependencies()]);
  const text = register(
    Object.fromEntries(all.flatMap(({ bundles }) => bundles)),
    Object.assign({}, ...all.map(({ importers }) => importers)),
  );
  const folder = await made(text, (made) => writeFileSync(join(made, "register.mjs"), text));
  return pathToFileURL(join(folder, "register.mjs")).href;
}

function register(bundled: Readonly<Record<string, string>>, importers: Bundled["importers"]): string {
  return `import { registerHooks } from "node:module";
const bundled = ${JSON.stringify(bundled, undefined, 2)};
const importers = ${JSON.stringify(importers, undefined, 2)};
const folder = ${JSON.stringify(urlOf(cache))};
registerHooks({
  resolve(name, context, next) {
    const importer = context.parentURL?.startsWith(folder) ? importers[name] : undefined;
    const found = next(name, importer === undefined ? context : { ...context, parentURL: importer });
    const url = bundled[found.url];
    return url === undefined ? found : { ...found, url, format: "module" };
  },
});
`;
}

export interface Bundled {
  readonly bundles: readonly (readonly [source: string, bundle: string])[];
  /** A source that imports what is in no bundle, by the name that it has there: Node looks for it from that source. */
  readonly importers: Readonly<Record<string, string>>;
}

/** Nearly every program loads these two packages and what they import: that is one file. */
const base =
  /\/packages\/(?:core|runtime)\/src\/|\/node_modules\/(?:eventemitter3|immer|sorted-btree|@noble\/hashes)\//;
/** Programs of tests import some of it themselves. */
const inBase = {
  "packages/core": ["@noble/hashes/sha2.js", "@noble/hashes/utils.js"],
  "packages/runtime": ["eventemitter3", "immer", "sorted-btree"],
};

/** The sources of all entries of these packages, and the bundle of each. */
export async function bundledPackages(packages: readonly Package[]): Promise<Bundled> {
  const sources = packages.flatMap(({ folder }) =>
    ["package.json", ...globSync("src/**/*.ts", { cwd: folder }).toSorted()].map((path) => join(folder, path)),
  );
  const key = sources.map((path) => `${path}\n${readFileSync(path, "utf8")}`).join("\n");
  const own = packages.flatMap(({ folder, manifest: { exports, bin = {} } }) => {
    const entries = Object.values(exports).flatMap((entry) =>
      typeof entry === "string" ? [] : [entry["@proviso/source"]],
    );
    const commands = Object.values(bin).map((path) => path.replace(/^\.\/dist\/(.+)\.js$/, "./src/$1.ts"));
    return [...entries, ...commands].map((path) => ({ folder, name: join(folder, path) }));
  });
  const shared = namesIn(inBase).filter(({ folder }) => packages.some((one) => one.folder === folder));
  const importers: Record<string, string> = {};
  return bundledOnce(key, [...own, ...shared], importers, {
    resolve: { conditionNames: ["@proviso/source", "node", "import"] },
    transform: { target: `node${lowestNode(packages[0]?.manifest.engines?.node)}` },
    plugins: [
      {
        name: "what-others-made",
        async resolveId(id, importer) {
          if (importer === undefined || /^[./\0]|^@(?:proviso|oxc-project)\//.test(id)) return;
          const found = await this.resolve(id, importer, { skipSelf: true });
          if (found !== null && base.test(found.id)) return found;
          importers[id] ??= urlOf(importer);
          return { id, external: true };
        },
      },
    ],
  });
}

function bundledDependencies(): Promise<Bundled> {
  return bundledOnce("", namesIn(dependencies), {}, {});
}

interface Entry {
  /** From where the name is looked for. */
  readonly folder: string;
  readonly name: string;
}

function namesIn(folders: Readonly<Record<string, readonly string[]>>): Entry[] {
  return Object.entries(folders).flatMap(([folder, names]) =>
    names.map((name) => ({ folder: join(root, folder), name })),
  );
}

async function bundledOnce(
  key: string,
  entries: readonly Entry[],
  importers: Record<string, string>,
  options: InputOptions,
): Promise<Bundled> {
  const files = ["pnpm-lock.yaml", "scripts/test-bundles.ts"].map((path) => readFileSync(join(root, path), "utf8"));
  const folder = await made([JSON.stringify(entries), ...files, key].join("\n"), async (to) => {
    const entered: Plugin = {
      name: "entries",
      resolveId(id, importer) {
        const entry = importer === undefined ? entries.find(({ name }) => name === id) : undefined;
        return entry && this.resolve(id, join(entry.folder, "package.json"), { skipSelf: true });
      },
    };
    const bundled = await rolldown({
      ...options,
      input: entries.map(({ name }) => name),
      platform: "node",
      plugins: [entered, options.plugins],
    });
    const { output } = await bundled.write({
      dir: to,
      format: "esm",
      entryFileNames: "[hash].mjs",
      chunkFileNames: "[hash].mjs",
      comments: false,
      codeSplitting: { groups: [{ name: "base", test: base }] },
    });
    await bundled.close();
    const written = output.flatMap((chunk) =>
      chunk.type === "chunk" && chunk.isEntry ? [[chunk.facadeModuleId, chunk.fileName]] : [],
    );
    writeFileSync(join(to, "entries.json"), JSON.stringify({ written, importers }));
  });
  const kept = JSON.parse(readFileSync(join(folder, "entries.json"), "utf8")) as {
    readonly written: readonly (readonly [string, string])[];
    readonly importers: Readonly<Record<string, string>>;
  };
  const bundles = kept.written.map(([source, file]) => [urlOf(source), urlOf(join(folder, file))] as const);
  return { bundles, importers: kept.importers };
}

/** The folder in `cache` for `key`, made by `make` where it is not there. */
async function made(key: string, make: (to: string) => unknown): Promise<string> {
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
