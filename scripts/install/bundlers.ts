/** Bundlers that programs are built with: each meets an optional package that is not installed in its own way. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ownNode } from "./runtimes.ts";
import { output } from "./steps.ts";

export const bundlers: readonly string[] = ["esbuild@0.28.2", "webpack@5.113.0", "webpack-cli@7.3.1"];

/** Bundles a program, and returns what each bundle prints, by its bundler. */
export async function printedByBundles(here: string, program: string): Promise<ReadonlyMap<string, string>> {
  const printed = new Map<string, string>();
  const run = async (file: string): Promise<string> => output(ownNode.command, [file], here);
  await output(
    join(here, "node_modules/.bin/esbuild"),
    [program, "--bundle", "--platform=node", "--format=esm", "--outfile=by-esbuild.mjs"],
    here,
  );
  printed.set("esbuild", await run("by-esbuild.mjs"));
  const config = {
    mode: "production",
    target: "node22",
    entry: `./${program}`,
    experiments: { outputModule: true },
    output: { path: here, filename: "by-webpack.mjs", module: true, library: { type: "module" } },
  };
  writeFileSync(join(here, "webpack.config.mjs"), `export default ${JSON.stringify(config)};`);
  await output(ownNode.command, ["node_modules/webpack-cli/bin/cli.js"], here);
  printed.set("webpack", await run("by-webpack.mjs"));
  return printed;
}
