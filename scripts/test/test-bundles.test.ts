import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { fromSources } from "../from-sources.ts";
import { manifestIn, root } from "../packages.ts";
import { bundledPackages } from "../test-bundles.ts";

test("a bundle is made of the sources as they are now, and made once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "proviso-bundles-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "src"));
  const exports = { ".": { "@proviso/source": "./src/index.ts", default: "./dist/index.js" } };
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({ type: "module", engines: { node: ">=22.13" }, exports }),
  );
  const bundleOf = async (value: string) => {
    writeFileSync(join(folder, "src/index.ts"), `import { value } from "./value.ts";\nexport const told = value;`);
    writeFileSync(join(folder, "src/value.ts"), `export const value: string = "${value}";`);
    const { bundles } = await bundledPackages([{ id: "one", folder, manifest: manifestIn(folder) }]);
    const [[source, bundle] = ["", ""]] = bundles;
    expect(source).toBe(pathToFileURL(join(folder, "src/index.ts")).href);
    expect((await import(bundle)).told).toBe(value);
    return bundle;
  };
  const first = await bundleOf("first");
  const second = await bundleOf("second");
  expect(second).not.toBe(first);
  expect(await bundleOf("first")).toBe(first);
});

test("a program that a test starts has one copy of a module, however it is imported, and it is a bundle's", () => {
  const program = `
    import { z } from "zod";
    import { z as other } from "zod/v4";
    const urls = ["@proviso/core", "zod"].map((name) => import.meta.resolve(name));
    console.log(JSON.stringify([urls, z.string === other.string]));
  `;
  const args = [...fromSources, "--input-type=module", "--eval", program];
  const said = execFileSync(process.execPath, args, { cwd: join(root, "packages/toolkit"), encoding: "utf8" });
  const [urls, isOne] = JSON.parse(said) as [string[], boolean];
  expect(isOne).toBe(true);
  for (const url of urls) expect(url).toContain("/node_modules/.cache/proviso-tests/");
});
