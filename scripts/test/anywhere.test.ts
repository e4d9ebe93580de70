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

/** The imports of optional packages while a program runs, with their files. */
const optional = packagesIn(root)
  // The command loads our own packages, and is bundled by nobody.
  .filter(({ id }) => id !== "cli")
  .flatMap(({ id, manifest }) =>
    globSync(`packages/${id}/src/**/*.ts`, { cwd: root }).flatMap((file) => {
      const text = readFileSync(join(root, file), "utf8").replaceAll("typeof import(", "");
      const names = Object.keys(manifest.peerDependenciesMeta ?? {});
      return names.filter((name) => text.includes(`import("${name}")`)).map((name) => ({ name, file, text }));
    }),
  );

test("DOC-13 optional packages are imported while a program runs", () => {
  const names = optional.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["@pydantic/genai-prices", "image-size", "@ai-sdk/openai-compatible"]));
});

test.each(optional)(
  "DOC-13 $file imports $name in a try, where bundlers pass over it if it is missing",
  ({ name, text }) => {
    const tried = new RegExp(`try \\{\\s*return await import\\("${name}"\\);\\s*\\} catch`, "g");
    expect(text.replaceAll(tried, "")).not.toContain(`import("${name}")`);
  },
);
