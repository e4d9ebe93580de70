/**
 * `pnpm pack:check`: builds each package from nothing, packs it as it would be published, and asks publint and attw about
 * the tarball. Tests and build information must not be in it.
 */
import { execFileSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";

const root = join(import.meta.dirname, "..");
const bin = join(root, "node_modules/.bin");
const folder = mkdtempSync(join(tmpdir(), "proviso-pack-"));
let faults = 0;

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, PATH: [bin, process.env["PATH"]].join(delimiter), NO_COLOR: "1" },
    shell: process.platform === "win32",
  });
}

function check(name: string, step: () => string | undefined): void {
  try {
    const fault = step();
    if (fault === undefined) return;
    console.error(`${name}: ${fault}`);
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    console.error(`${name}: ${(error as Error).message}\n${stdout}${stderr}`);
  }
  faults++;
}

/** `pnpm pack` rewrites `catalog:`, `workspace:` and `publishConfig`, as publishing does. */
function pack(packageFolder: string): string {
  const before = new Set(globSync("*.tgz", { cwd: folder }));
  const pnpm = process.env["npm_execpath"];
  const args = ["pack", "--pack-destination", folder];
  if (pnpm?.match(/\.[cm]?js$/)) run(process.execPath, [pnpm, ...args], packageFolder);
  else run(pnpm ?? "pnpm", args, packageFolder);
  const tarball = globSync("*.tgz", { cwd: folder }).find((file) => !before.has(file));
  if (tarball === undefined) throw new Error(`pnpm pack wrote no tarball for ${packageFolder}`);
  return join(folder, tarball);
}

function unwanted(tarball: string): string | undefined {
  const files = run("tar", ["-tzf", tarball], root).trim().split("\n");
  const wrong = files.filter((file) => /tsbuildinfo|\.test\.|\/test\/|\.tsc\//.test(file));
  if (wrong.length > 0) return `the package holds ${wrong.join(", ")}`;
  return files.some((file) => file.startsWith("package/LICENSE")) ? undefined : "the package holds no LICENSE";
}

for (const path of globSync("packages/*/{dist,.tsc}", { cwd: root })) rmSync(join(root, path), { recursive: true });
check("build", () => {
  run("tsc", ["-b"], root);
  run(process.execPath, ["scripts/bundle.ts"], root);
  return undefined;
});

for (const path of globSync("packages/*/package.json", { cwd: root }).toSorted()) {
  const { name } = JSON.parse(readFileSync(join(root, path), "utf8")) as { name: string };
  check(name, () => {
    const tarball = pack(join(root, path, ".."));
    run("publint", ["run", tarball, "--strict"], root);
    run("attw", [tarball, "--profile", "esm-only"], root);
    return unwanted(tarball);
  });
}

rmSync(folder, { recursive: true });
console.log(`packages: ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
