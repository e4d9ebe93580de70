import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { inject } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { here } from "./temporary-folder.ts";

const run = promisify(execFile);

/** Programs in one process: a start costs more than most programs, and what went wrong is run again alone. */
const together = 24;

interface Shown {
  readonly text: string;
  readonly prints: string;
}

/**
 * Runs programs in few processes, one after the other, and returns a function that says what one of them printed. A
 * program that printed something else than it has to, because it prints after its end or others are beside it, is run
 * again in a process of its own, and that counts; `pnpm test:exhaustive` runs each in a process of its own only.
 */
export function printedBy(programs: readonly Shown[]): (program: Shown) => Promise<string> {
  const batches = new Map<number, Promise<readonly string[]>>();
  return async (program) => {
    const index = programs.indexOf(program);
    const batch = Math.floor(index / together);
    if (!inject("exhaustive")) {
      const own = programs.slice(batch * together, (batch + 1) * together);
      if (!batches.has(batch)) batches.set(batch, printedTogether(own.map(({ text }) => text)));
      if ((await batches.get(batch))?.[index % together] === program.prints) return program.prints;
    }
    return printedAlone(program.text);
  };
}

/** Runs a program in a process of its own; the packages that it imports are this example's, and it is written nowhere. */
async function printedAlone(text: string): Promise<string> {
  const args = [...fromSources, "--input-type=module-typescript", "--eval", text];
  const { stdout } = await run(process.execPath, args, { cwd: here });
  return stdout;
}

/** Runs programs one after the other in one process, and returns what each printed. */
async function printedTogether(texts: readonly string[]): Promise<readonly string[]> {
  const running = run(process.execPath, [...fromSources, join(import.meta.dirname, "processes/page.ts")], {
    cwd: here,
  });
  running.child.stdin?.end(JSON.stringify(texts));
  const { stdout } = await running.catch((error: { readonly stdout?: string }) => ({ stdout: error.stdout ?? "" }));
  return stdout.split("\u0000\n");
}
