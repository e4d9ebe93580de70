import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

export const main = new URL("../main.ts", import.meta.url).pathname;

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Program {
  readonly child: ReturnType<typeof spawn>;
  readonly ended: Promise<Ended>;
  stdout(): string;
}

/** The program as `pnpm demo` starts it, with a journal of its own where none is named. */
export function start(args: readonly string[], ...more: Tail<Parameters<typeof started>>): Program {
  const runs = args.some((arg) => arg.startsWith("--runs")) ? [] : ["--runs", newRuns()];
  return started([...fromSources, main, ...args, ...runs], ...more);
}

/** The path of a journal that is not there yet. */
export function newRuns(): string {
  const folder = mkdtempSync(join(tmpdir(), "code-review-runs-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "runs.db");
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer Rest] ? Rest : never;

/** Node with these arguments. */
export function started(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  stdout: "pipe" | number = "pipe",
): Program {
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", stdout, "pipe"],
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...env },
  });
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...output }));
  return { child, ended, stdout: () => output.stdout };
}

export async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "code-review-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

export const messy = {
  "src/a.ts": "export function a(x: any) {\n  // TODO: finish\n  return x;\n}\n",
  "src/b.ts": "/** Says hello. */\nexport function b(): void {\n  console.log('b');\n}\n",
  "src/c.ts": "try {\n  a();\n} catch {}\n",
  "src/d.ts": "const d = 1;\n",
  "src/e.ts": "const e = 1;\n",
  "src/f.ts": "const f = 1;\n",
};
export const tidy = { "main.py": "def main():\n    return 0\n" };
