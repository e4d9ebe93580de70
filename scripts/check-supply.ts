/**
 * `pnpm supply:check`: of all that is installed, the licences and the scripts that would run; that packages have a hash and
 * are not taken on the day they appear; and that ours run nothing where they are installed.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { packagesIn, root } from "./packages.ts";
import { buildsIn, lockfileFaults, packageFaults, workspaceFaults, type Installed } from "./supply-faults.ts";

const workspace = readFileSync(join(root, "pnpm-workspace.yaml"), "utf8");
const builds = buildsIn(workspace);
const read = (path: string): Installed => JSON.parse(readFileSync(path, "utf8")) as Installed;
const folder = join(root, "node_modules/.pnpm");
const paths = globSync(["*/node_modules/*/package.json", "*/node_modules/@*/*/package.json"], { cwd: folder });
const installed = new Map<string, Installed>();
for (const path of paths) {
  const manifest = read(join(folder, path));
  installed.set(`${manifest.name}@${manifest.version}`, manifest);
}

const faults = [
  ...workspaceFaults(workspace),
  ...lockfileFaults(readFileSync(join(root, "pnpm-lock.yaml"), "utf8")),
  ...(existsSync(folder) && installed.size > 0 ? [] : ["nothing is installed"]),
  ...[...installed.values()].flatMap((manifest) => packageFaults(manifest, builds)),
  ...packagesIn(root).flatMap(({ id }) => packageFaults(read(join(root, "packages", id, "package.json")), [])),
];
for (const fault of faults) console.error(fault);
console.log(`supply: ${installed.size} packages, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
