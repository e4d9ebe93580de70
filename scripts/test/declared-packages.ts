import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { packagesIn, type Package } from "../packages.ts";

/** The packages `a` and `b`, each with the entries "." and "./internal", and with these files. */
export function packagesWith(files: Readonly<Record<string, string>>): readonly Package[] {
  const folder = mkdtempSync(join(tmpdir(), "proviso-api-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const entry = (name: string) => ({ types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` });
  const manifests = ["a", "b"].map((id): [path: string, text: string] => [
    `packages/${id}/package.json`,
    JSON.stringify({ name: `@proviso/${id}`, exports: { ".": entry("index"), "./internal": entry("internal") } }),
  ]);
  const empty = { "packages/a/dist/index.d.ts": "", "packages/a/dist/internal.d.ts": "" };
  for (const [name, text] of Object.entries({ ...Object.fromEntries(manifests), ...empty, ...files })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return packagesIn(folder);
}
