import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";

vi.setConfig({ testTimeout: 300_000 });

const run = promisify(execFile);
const packageFolder = join(import.meta.dirname, "..");

/** Hooks of the loader: tells what is imported, and says of some packages that they are missing. */
const hooks = (missing: readonly string[]): string => `
  import { registerHooks } from "node:module";
  registerHooks({
    resolve(specifier, context, next) {
      if (${JSON.stringify(missing)}.includes(specifier)) {
        throw Object.assign(new Error("Cannot find package " + specifier), { code: "ERR_MODULE_NOT_FOUND" });
      }
      return next(specifier, context);
    },
    load(url, context, next) {
      if (url.includes("adapter-ai-sdk")) console.log("loaded");
      return next(url, context);
    },
  });
`;

/** What a program prints in a process of its own, over the sources. */
async function printed(program: string, missing: readonly string[] = []): Promise<readonly string[]> {
  const register = `data:text/javascript,${encodeURIComponent(hooks(missing))}`;
  const args = ["--conditions=@proviso/source", "--import", register, "--input-type=module-typescript", "-e", program];
  const { stdout } = await run(process.execPath, args, {
    cwd: packageFolder,
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
  });
  return [...new Set(stdout.trim().split("\n"))];
}

const block = `
  import { definePrimitive } from "@proviso/primitive";
  import { modelAdapter } from "@proviso/runtime";
  import { scriptedModel } from "@proviso/runtime/testing";
  import { z } from "zod";
  const block = { name: "classify", systemPrompt: "Classify.", output: z.object({ label: z.string() }) };
`;
const name = "@proviso/adapter-ai-sdk";

test("BLK-3 with an adapter the ai-sdk package is not loaded, and need not be installed", async () => {
  const program = `${block}
    const adapter = modelAdapter(scriptedModel([{ output: { label: "good" } }]));
    console.log((await definePrimitive({ ...block, adapter }).run("A fine day.")).success);
  `;
  expect(await printed(program)).toEqual(["true"]);
  expect(await printed(program, [name])).toEqual(["true"]);
});

test("BLK-3 with an id it is loaded by the first run", async () => {
  const program = `${block}
    const primitive = definePrimitive({ ...block, model: "m" });
    console.log("defined");
    console.log((await primitive.run("A fine day.")).reason);
  `;
  expect(await printed(program)).toEqual(["defined", "loaded", "not_found_error"]);
});

test("BLK-3 PRO-4 missing, it is a DefinitionError that says how to install it", async () => {
  const program = `${block}
    try { definePrimitive({ ...block, model: "m" }); } catch (error) { console.log(error.code, error.message); }
  `;
  const message = `definition The package ${name} is needed for a model that is given by its id: npm install ${name}`;
  expect(await printed(program, [name])).toEqual([message]);
});

test("BLK-3 PRO-4 in a bundle, where packages cannot be looked up, the import itself fails", async () => {
  const program = `${block}
    import { registerHooks } from "node:module";
    registerHooks({ resolve(specifier, context, next) {
      if (specifier === "@proviso/core") throw new Error("bundled");
      return next(specifier, context);
    } });
    const { reason, error } = await definePrimitive({ ...block, model: "m" }).run("A fine day.");
    console.log(reason, error.cause.code, error.message);
  `;
  const message = `The package ${name} is needed for a model that is given by its id: npm install ${name}`;
  expect(await printed(program, [name])).toEqual([`not_found_error definition ${message}`]);
});
