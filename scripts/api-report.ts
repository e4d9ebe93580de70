/**
 * `pnpm api:report` writes the public names and signatures of each package to api/<package>.md, from the declarations
 * that the build has made; `pnpm api:check` fails where they differ. So a change to what users compile against shows in
 * the diff of the change that makes it. A type that a signature uses and no entry exports is listed too.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicApi, withoutComments, type PublicName } from "./declarations.ts";
import { packagesIn, root as here, type Package } from "./packages.ts";

/**
 * The report of a package: a heading for each entry but `./internal`, and its declarations by name, without comments.
 * `others` are the packages whose declarations it may export again.
 */
export function apiReport(one: Package, others: readonly Package[]): string {
  const { entries, hidden } = publicApi(one, others);
  const sections = [...entries].map(([entry, names]) => `## ${entry}\n\n${fenced(names)}`);
  if (hidden.length > 0) sections.push(`## Used by these, and not exported\n\n${fenced(hidden)}`);
  return `${[`# The API of ${one.manifest.name}`, "Written by `pnpm api:report`.", ...sections].join("\n\n")}\n`;
}

function fenced(names: readonly PublicName[]): string {
  const texts = names.flatMap(({ declarations }) => declarations.map(({ text }) => withoutComments(text)));
  return ["```ts", ...texts, "```"].join("\n");
}

function main(check: boolean): number {
  const folder = join(here, "api");
  let differing = 0;
  if (!check) rmSync(folder, { recursive: true, force: true });
  if (!check) mkdirSync(folder);
  const packages = packagesIn(here);
  for (const one of packages) {
    const file = join(folder, `${one.id}.md`);
    const report = apiReport(one, packages);
    if (!check) writeFileSync(file, report);
    else if (!existsSync(file) || readFileSync(file, "utf8") !== report) {
      differing += 1;
      console.error(`api/${one.id}.md differs from the build: run \`pnpm api:report\` and look at the difference.`);
    }
  }
  console.log(check ? `api: ${differing} reports differ` : "api: written");
  return differing === 0 ? 0 : 1;
}

if (process.argv[1] === import.meta.filename) process.exitCode = main(process.argv.includes("--check"));
