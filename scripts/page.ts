/** Writes the viewer's page: one script, one sheet, one document. Nothing of it comes from elsewhere. */
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { root } from "./packages.ts";

const folder = join(root, "packages/viewer");

export async function buildPage(to = join(folder, "dist/page")): Promise<void> {
  const page = join(folder, "page");
  const bundled = await rolldown({
    input: join(page, "main.tsx"),
    platform: "browser",
    transform: { target: "es2022" },
  });
  await bundled.write({ dir: to, format: "esm", entryFileNames: "page.js", minify: true, comments: false });
  await bundled.close();
  mkdirSync(to, { recursive: true });
  for (const file of ["index.html", "page.css"]) copyFileSync(join(page, file), join(to, file));
}

if (process.argv[1] === import.meta.filename) await buildPage();
