/**
 * `pnpm pack:check`: builds each package from nothing, packs it as it would be published, and asks publint and attw about
 * the tarball. Its links, its guides and what a registry shows of it have to be right, and its size in a browser is bounded.
 */
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, sep } from "node:path";
import { sizeFaults } from "./browser-size.ts";
import { guidesIn } from "./guides.ts";
import { packageFaults } from "./package-faults.ts";
import { manifestIn, pack, packagesIn, root, run } from "./packages.ts";

const folder = mkdtempSync(join(tmpdir(), "proviso-pack-"));
const packages = packagesIn(root);
const guides = guidesIn(root);
let faults = 0;

function check<T>(name: string, step: () => T): T | undefined {
  try {
    return step();
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    fault(`${name}: ${(error as Error).message}\n${stdout}${stderr}`);
    return undefined;
  }
}

function fault(text: string): void {
  console.error(text);
  faults++;
}

/** Where a tarball was unpacked. */
function unpacked(tarball: string, id: string): string {
  const into = join(folder, id);
  mkdirSync(into);
  run("tar", ["-xzf", tarball, "-C", into], root);
  return join(into, "package");
}

for (const path of globSync("packages/*/{dist,.tsc}", { cwd: root })) rmSync(join(root, path), { recursive: true });
const tarballs = check("build", () => {
  run("tsc", ["-b"], root);
  for (const script of ["bundle.ts", "guides.ts"]) run(process.execPath, [`scripts/${script}`], root);
  return pack(packages, folder);
});

for (const { id, manifest } of packages) {
  const tarball = tarballs?.get(manifest.name);
  if (tarball === undefined) continue;
  check(manifest.name, () => {
    const inside = unpacked(tarball, id);
    const entries = globSync("**/*", { cwd: inside, withFileTypes: true }).filter((entry) => entry.isFile());
    const paths = entries.map(({ parentPath, name }) =>
      join(parentPath, name)
        .slice(inside.length + 1)
        .replaceAll(sep, "/"),
    );
    const files = { paths, text: (path: string) => readFileSync(join(inside, path), "utf8") };
    for (const text of packageFaults(id, manifestIn(inside), files, guides.get(id)?.keys() ?? [])) {
      fault(`${manifest.name}: ${text}`);
    }
    run("publint", ["run", tarball, "--strict"], root);
    run("attw", [tarball, "--profile", "esm-only"], root);
  });
}

for (const text of tarballs === undefined ? [] : await sizeFaults("dist")) fault(text);
rmSync(folder, { recursive: true });
console.log(`packages: ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
