import { execFile } from "node:child_process";
import { fromSources } from "../../../scripts/from-sources.ts";

export interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** The program with these variables. */
export function run(environment: Readonly<Record<string, string>>): Promise<Ended> {
  const program = new URL("../main.ts", import.meta.url).pathname;
  const env = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, [...fromSources, program], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}
