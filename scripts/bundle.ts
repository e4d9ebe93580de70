/**
 * Writes each package's JavaScript, one file an entry and what entries share beside them: a module that has to be found
 * and read costs more at a start than its code. The declarations are TypeScript's.
 */
import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { rolldown } from "rolldown";

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly default: string; readonly "@proviso/source": string }>>;
  readonly bin?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, "..");

await Promise.all(globSync("packages/*/package.json", { cwd: root }).map((path) => bundle(join(root, dirname(path)))));

async function bundle(folder: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  const built = Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.default]));
  const names = [...built, ...Object.values(manifest.bin ?? {})].map((path) =>
    path.slice("./dist/".length, -".js".length),
  );
  const bundled = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(folder, "src", `${name}.ts`)])),
    // A package's own modules alone: dependencies stay the reader's to install, once.
    external: (id) => !/^[./]/.test(id),
    platform: "node",
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
