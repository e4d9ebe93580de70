import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const packageFolder = join(import.meta.dirname, "..", "..");
const run = promisify(execFile);

/** Hooks of the loader: tells what is imported on standard output, and says of some packages that they are missing. */
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
      console.log("loaded " + url);
      return next(url, context);
    },
  });
`;

export interface ProgramRun {
  /** The packages of which a module was loaded. */
  readonly packages: readonly string[];
  readonly output: readonly string[];
}

/** Runs a program in a process of its own, over the sources. */
export async function runProgram(program: string, missing: readonly string[] = []): Promise<ProgramRun> {
  const register = `data:text/javascript,${encodeURIComponent(hooks(missing))}`;
  const args = ["--conditions=@proviso/source", "--import", register, "--input-type=module-typescript", "-e", program];
  const env = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] };
  const { stdout } = await run(process.execPath, args, { cwd: packageFolder, env });
  const lines = stdout.trim().split("\n");
  const urls = lines.filter((line) => line.startsWith("loaded "));
  return {
    packages: [...new Set(urls.flatMap((line) => packageIn(line)))].toSorted(),
    output: lines.filter((line) => !line.startsWith("loaded ")),
  };
}

function packageIn(line: string): readonly string[] {
  const name = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(line)?.[1];
  return name === undefined ? [] : [name];
}
