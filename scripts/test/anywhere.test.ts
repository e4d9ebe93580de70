import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { anywhere } from "../install/anywhere.ts";
import { manifestIn, root } from "../packages.ts";

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
