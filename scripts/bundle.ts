/**
 * Writes each package's JavaScript, one file for each entry and one for what entries share: a module that has to be found
 * and read costs more at a start than its code. The declarations are TypeScript's.
 */
import { isAbsolute, join } from "node:path";
import { rolldown } from "rolldown";
import { buildPage } from "./page.ts";
import { lowestNode, manifestIn, packagesIn, root } from "./packages.ts";

/** Writes the package's entries to `to`. */
export async function bundle(folder: string, to = join(folder, "dist")): Promise<void> {
  const manifest = manifestIn(folder);
  const built = Object.values(manifest.exports).flatMap((entry) => (typeof entry === "string" ? [] : [entry.default]));
  const names = [...built, ...Object.values(manifest.bin ?? {})].map((path) =>
    path.slice("./dist/".length, -".js".length),
  );
  const bundled = await rolldown({
    input: Object.fromEntries(names.map((name) => [name, join(folder, "src", `${name}.ts`)])),
    external: (id) => !isOwn(id),
    platform: "node",
    // Without a target the sources' newest syntax reaches users: Node 22 cannot parse `using`.
    transform: { target: `node${lowestNode(manifest.engines?.node)}` },
  });
  await bundled.write({
    dir: to,
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
  await Promise.all([...packagesIn(root).map(({ folder }) => bundle(folder)), buildPage()]);
}
