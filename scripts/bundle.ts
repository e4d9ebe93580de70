/**
 * Writes each package's JavaScript, one file for each entry and one for what entries share: a module that has to be found
 * and read costs more at a start than its code. The declarations are TypeScript's.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";
import { rolldown } from "rolldown";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string; readonly "@proviso/source": string }>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
}

/** The syntax that a bundle may have: that of the lowest Node in `engines.node`, `>=22.13` for example. */
export function syntaxOf(engines: string | undefined): string {
  const [, lowest] = /^>=(\d+(?:\.\d+)*)$/.exec(engines ?? "") ?? [];
  if (lowest === undefined)
    throw new Error(`engines.node must have the form ">=22.13", not ${JSON.stringify(engines)}.`);
  return `node${lowest}`;
}

export async function bundle(folder: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const built = Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.default]));
  const names = [...built, ...Object.values(manifest.bin ?? {})].map((path) =>
    path.slice("./dist/".length, -".js".length),
  );
  const bundled = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(folder, "src", `${name}.ts`)])),
    external: (id) => !isOwn(id),
    platform: "node",
    // Without a target the sources' newest syntax reaches users: Node 22 cannot parse `using`.
    transform: { target: syntaxOf(manifest.engines?.node) },
  });
  await bundled.write({
    dir: join(folder, "dist"),
    format: "esm",
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    sourcemap: true,
  });
  await bundled.close();
}

/** A package's own modules, and rolldown's helpers for older syntax. Dependencies stay the reader's to install, once. */
function isOwn(id: string): boolean {
  return id.startsWith(".") || isAbsolute(id) || id.startsWith("\0") || id.startsWith("@oxc-project/");
}

if (process.argv[1] === import.meta.filename) {
  const root = join(import.meta.dirname, "..");
  const folders = globSync("packages/*/package.json", { cwd: root }).map((path) => join(root, dirname(path)));
  await Promise.all(folders.map(bundle));
}
