/** Writes the viewer's page: one script, one sheet, one document. Nothing of it comes from elsewhere. */
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./packages.ts";

const folder = join(root, "packages/viewer");

export async function buildPage(to = join(folder, "dist/page")): Promise<void> {
  const page = join(folder, "page");
  const bundled = await rolldown({
    input: join(page, "main.tsx"),
    platform: "browser",
    // The sources of other packages: their bundles may be made at the same time.
    resolve: { conditionNames: ["@proviso/source", "import"] },
    transform: { target: "es2022" },
  });
  mkdirSync(to, { recursive: true });
  // Each file is put in its place at once: other processes may be serving it.
  const made = mkdtempSync(`${to}-`);
  await bundled.write({ dir: made, format: "esm", entryFileNames: "page.js", minify: true, comments: false });
  await bundled.close();
  for (const file of ["index.html", "page.css"]) copyFileSync(join(page, file), join(made, file));
  for (const file of readdirSync(made)) renameSync(join(made, file), join(to, file));
  rmSync(made, { recursive: true });
}

if (process.argv[1] === import.meta.filename) await buildPage();
