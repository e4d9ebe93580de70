/** The packages of this repository: what their manifests say, and their tarballs. */
import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";

export const root = join(import.meta.dirname, "..");

/** The fields of a package.json that scripts read. */
export interface Manifest {
  readonly name: string;
  readonly version?: string;
  readonly description?: string;
  readonly author?: string;
  readonly homepage?: string;
  readonly bugs?: { readonly url?: string };
  readonly repository?: { readonly url?: string; readonly directory?: string };
  readonly exports: Readonly<
    Record<string, string | { readonly default: string; readonly types: string; readonly "@proviso/source": string }>
  >;
  readonly bin?: Readonly<Record<string, string>>;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>;
}

export interface Package {
  /** `core`; its folder is `packages/core`. */
  readonly id: string;
  readonly folder: string;
  readonly manifest: Manifest;
}

/** By id, in alphabetical order. */
export function packagesIn(root: string): readonly Package[] {
  return globSync("packages/*/package.json", { cwd: root })
    .toSorted()
    .map((path) => {
      const folder = join(root, dirname(path));
      return { id: basename(folder), folder, manifest: manifestIn(folder) };
    });
}

export function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
}

/** The names by which a package is imported: `@proviso/runtime`, `@proviso/node`. */
export function entriesOf({ name, exports }: Manifest): readonly string[] {
  return Object.keys(exports)
    .filter((entry) => entry !== "./package.json")
    .map((entry) => join(name, entry));
}

/** The number of a range `>=22.13`. @throws for any other form. */
export function lowestNode(engines: string | undefined): string {
  const [, lowest] = /^>=(\d+(?:\.\d+)*)$/.exec(engines ?? "") ?? [];
  if (lowest === undefined)
    throw new Error(`engines.node must have the form ">=22.13", not ${JSON.stringify(engines)}.`);
  return lowest;
}

/** What a command prints. @throws with its output, if it fails. */
export function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    env: {
      ...process.env,
      PATH: [join(root, "node_modules/.bin"), process.env["PATH"]].join(delimiter),
      NO_COLOR: "1",
    },
    shell: process.platform === "win32",
    stdio: ["ignore", "pipe", "pipe"],
  });
}

/**
 * The tarball of each package, by its name, as publishing makes it: `pnpm pack` replaces `catalog:`, `workspace:` and
 * `publishConfig`. What they hold has to be built before.
 */
export function pack(packages: readonly Package[], into: string): ReadonlyMap<string, string> {
  const pnpm = process.env["npm_execpath"];
  const args = ["-r", "--filter", "./packages/*", "pack", "--pack-destination", into];
  if (pnpm?.match(/\.[cm]?js$/)) run(process.execPath, [pnpm, ...args], root);
  else run(pnpm ?? "pnpm", args, root);
  return new Map(
    packages.map(({ manifest: { name, version } }) => [
      name,
      join(into, `${name.replace("@", "").replace("/", "-")}-${version}.tgz`),
    ]),
  );
}
