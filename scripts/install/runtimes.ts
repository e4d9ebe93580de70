/**
 * The runtimes that packages are tried on. npm carries them as packages, 470 MB for all: they are no dependencies of the
 * repository, which would make each clone fetch them, but are kept in a cache folder from one check to the next.
 */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../packages.ts";
import { output } from "./steps.ts";

const cache = join(root, "node_modules/.cache/proviso-runtimes");

export interface Runtime {
  readonly name: string;
  readonly command: string;
  /** Before the file that it runs. */
  readonly args: readonly string[];
}

/** A runtime that npm carries, and where in its package the program is. */
interface Carried {
  readonly name: string;
  readonly package: string;
  readonly version: string;
  readonly file: string;
  readonly args: readonly string[];
}

/** The Node that runs this. */
export const ownNode: Runtime = { name: `node ${process.versions.node}`, command: process.execPath, args: [] };

/** @param lowest as `engines` has it: 22.13 is 22.13.0. */
export function node(lowest: string): Carried {
  const version = [...lowest.split("."), "0", "0"].slice(0, 3).join(".");
  const name = `node-${process.platform}-${process.arch}`;
  return { name: `node ${version}`, package: name, version, file: "bin/node", args: [] };
}

const { platform, arch } = process;

export const others: readonly Carried[] = [
  {
    name: "bun 1.4.5",
    package: `@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}`,
    version: "1.4.5",
    file: "bin/bun",
    args: [],
  },
  {
    name: "deno 2.9.6",
    package: `@deno/${platform}-${arch}${platform === "linux" ? "-glibc" : ""}`,
    version: "2.9.6",
    file: "deno",
    // The mathematics under @proviso/evals/statistics use `__proto__`, which Deno has with this flag alone.
    args: ["run", "--allow-all", "--unstable-unsafe-proto"],
  },
];

/** What runs workers of Cloudflare. */
export const workerd: Carried = {
  name: "workerd 1.20260426.1",
  package: `@cloudflare/workerd-${platform}-${arch === "x64" ? "64" : arch}`,
  version: "1.20260426.1",
  file: "bin/workerd",
  args: [],
};

/** The oldest compiler that reads every declaration: before it, `Uint8Array` takes no type. */
export const oldestCompiler: Carried = {
  name: "typescript 5.7.3",
  package: "typescript",
  version: "5.7.3",
  file: "bin/tsc",
  args: [],
};

/** Fetches what is not in the cache, and starts it. @throws where the one or the other fails. */
export async function fetched({ name, package: from, version, file, args }: Carried): Promise<Runtime> {
  const folder = join(cache, `${from.replace("/", "+")}@${version}`);
  const command = join(folder, "node_modules", from, file);
  if (!existsSync(command)) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "package.json"), "{}");
    await output("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", `${from}@${version}`], folder);
  }
  await output(command, ["--version"], dirname(command));
  return { name, command, args };
}
