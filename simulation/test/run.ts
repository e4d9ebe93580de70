import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { fromSources } from "../../scripts/from-sources.ts";

const source = join(import.meta.dirname, "../src");
const execute = promisify(execFile);

/** What the command says of the seeds `first` to `first + count - 1`; with a bug of mutations.ts, if one is named. */
export async function simulated(
  first: number,
  count: number,
  mutation?: string,
  script: "main.ts" | "scarce.ts" | "runs/main.ts" = "main.ts",
): Promise<{ readonly code: number; readonly said: string }> {
  const args = [
    // A bug is planted in a source while that is loaded.
    ...(mutation === undefined ? fromSources : ["--conditions=@proviso/source", "--import", join(source, "mutate.ts")]),
    // A run leaves much behind at once: young objects are collected less often where there is room for them.
    "--min-semi-space-size=32",
    "--max-semi-space-size=64",
    // Two of these run on two cores: threads beside the main one, for the collector and the last compiler, only add work.
    "--single-threaded-gc",
    "--no-turbofan",
    join(source, script),
    "--from",
    String(first),
    "--seeds",
    String(count),
  ];
  try {
    const env = { ...process.env, ...(mutation === undefined ? {} : { MUTATION: mutation }) };
    const { stdout } = await execute(process.execPath, args, { env, timeout: 850_000 });
    return { code: 0, said: stdout };
  } catch (error) {
    const { code, stderr } = error as { readonly code?: number; readonly stderr?: string };
    return { code: code ?? -1, said: stderr ?? String(error) };
  }
}
