import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { anywhere } from "../install/anywhere.ts";
import { manifestIn, packagesIn, root } from "../packages.ts";

/** The source file of an entry, `@proviso/journal/testing` for example. */
function sourceOf(entry: string): string {
  const [, id = "", name] = entry.split("/");
  const folder = join(root, "packages", id);
  const found = manifestIn(folder).exports[name === undefined ? "." : `./${name}`];
  return join(folder, typeof found === "object" ? found["@proviso/source"] : "");
}

test("DOC-13 what loads in workers draws no random value and sets no timer while it is loaded", async () => {
  const program = `
    const refused = (name) => () => { throw new Error(name + " while modules are loaded"); };
    globalThis.crypto.randomUUID = refused("randomUUID");
    globalThis.crypto.getRandomValues = refused("getRandomValues");
    Math.random = refused("random");
    for (const name of ["setTimeout", "setInterval", "fetch"]) globalThis[name] = refused(name);
    for (const file of ${JSON.stringify(anywhere.map(sourceOf))}) await import(file);
    console.log("loaded");
  `;
  const args = ["--conditions=@proviso/source", "--input-type=module", "--eval", program];
  expect((await promisify(execFile)(process.execPath, args, { cwd: root })).stdout).toBe("loaded\n");
});

const optional = packagesIn(root)
  // The command loads our own packages, and is bundled by nobody.
  .filter(({ id }) => id !== "cli")
  .flatMap(({ id, manifest }) => Object.keys(manifest.peerDependenciesMeta ?? {}).map((name) => [id, name] as const));

test.each(optional)("DOC-13 %s imports %s where bundlers may miss it: in a try", (id, name) => {
  const files = globSync(`packages/${id}/src/**/*.ts`, { cwd: root });
  for (const file of files) {
    const text = readFileSync(join(root, file), "utf8").replaceAll(/^ \*.*$|typeof import\(/gm, "");
    const all = text.split(`import("${name}")`).length - 1;
    const tried = text.split(new RegExp(`try \\{\\s*return await import\\("${name}"\\);\\s*\\} catch`)).length - 1;
    expect(all, file).toBe(tried);
  }
});
