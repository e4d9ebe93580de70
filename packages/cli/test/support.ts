import { runCommandLine, type CommandWorld } from "@proviso/cli";
import { definePrompt, defineTool } from "@proviso/core";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished, vi } from "vitest";
import { z } from "zod";
import { fromSources } from "../../../scripts/from-sources.ts";

/** The command line, as a program. */
const cli = new URL("../src/cli.ts", import.meta.url).pathname;
/** What a program that a test starts sees of the environment. */
export const env: Readonly<Record<string, string | undefined>> = {
  PATH: process.env["PATH"],
  NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
};
/** Node's arguments before those of the command line. */
export const program: readonly string[] = [...fromSources, cli];

/** What a command line came to. */
export interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command line that runs. */
export interface Running {
  /** Resolves when it has written this text to stdout or stderr. */
  wrote(text: string): Promise<string>;
  /** Sends it a SIGINT. */
  interrupt(): void;
  /** Writes to its stdin. */
  type(text: string): void;
  /** Ends its stdin. */
  endInput(): void;
  readonly ended: Promise<Ended>;
}

/** A folder for one test. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

/** The folder of the modules that the tests point the command line at. */
export const processes = new URL("processes/", import.meta.url).pathname;

/** A folder with a config whose model answers by what it reads, and texts. */
export async function project(config = `export { default } from ${JSON.stringify(join(processes, "config.ts"))};\n`) {
  const folder = await temporaryFolder();
  await writeFile(join(folder, "proviso.config.ts"), config);
  await writeFile(join(folder, "hello.prompt.md"), "Hello, {{name}}.\n");
  await writeFile(join(folder, "slow.md"), "Please wait.\n");
  return folder;
}

/** The command line in this process. */
export async function inProcess(folder: string, args: readonly string[], more: Partial<CommandWorld> = {}) {
  const written = { stdout: "", stderr: "" };
  const output = (name: keyof typeof written) => ({ write: (text: string) => (written[name] += text) });
  const world = { stdout: output("stdout"), stderr: output("stderr"), env: {}, cwd: folder, ...more };
  return { code: await runCommandLine(args, world), ...written };
}

/** A signal that fires a moment after a module of this process has called `globalThis.waits`. */
export function firedWhenItWaits(): AbortSignal {
  const ending = new AbortController();
  vi.stubGlobal("waits", () => void setTimeout(() => ending.abort(), 50));
  return ending.signal;
}

/** Runs the command line in pipes, to its end. */
export function run(folder: string, args: readonly string[], more: Readonly<Record<string, string>> = {}) {
  return new Promise<Ended>((ended) => {
    const options = { cwd: folder, env: { ...env, ...more } };
    // Bundles import each other as files, not by the names of packages: what is missing is missed by sources alone.
    const started = "NODE_OPTIONS" in more ? ["--conditions=@proviso/source", cli] : program;
    const child = execFile(process.execPath, [...started, ...args], options, (error, stdout, stderr) =>
      ended({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
    child.stdin?.end();
  });
}

/** Starts the command line, in pipes or in a pseudo-terminal: `script` of util-linux runs it in one. */
export function start(
  folder: string,
  args: readonly string[],
  { inTerminal = false, more = {} }: { readonly inTerminal?: boolean; readonly more?: Record<string, string> } = {},
): Running {
  const all = [process.execPath, ...program, ...args];
  const quoted = all.map((arg) => `'${arg}'`).join(" ");
  const [command = "", ...rest] = inTerminal ? ["script", "-qec", `exec ${quoted}`, "/dev/null"] : all;
  const child = spawn(command, rest, { cwd: folder, env: { ...env, SHELL: "/bin/sh", ...more } });
  const written = { stdout: "", stderr: "" };
  const waiting = new Set<() => void>();
  for (const name of ["stdout", "stderr"] as const) {
    child[name].on("data", (chunk: Buffer) => {
      written[name] += chunk.toString();
      for (const look of waiting) look();
    });
  }
  const ended = new Promise<Ended>((done, fail) => {
    child.on("error", fail);
    child.on("close", (code, signal) => done({ code: code ?? signal, ...written }));
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    wrote: (text) =>
      new Promise((done, fail) => {
        const look = (): void => {
          if (!`${written.stdout}${written.stderr}`.includes(text)) return;
          waiting.delete(look);
          done(`${written.stdout}${written.stderr}`);
        };
        waiting.add(look);
        look();
        void ended.then((end) => fail(new Error(`It ended without ${text}: ${JSON.stringify(end)}`)));
      }),
    interrupt: () => void (inTerminal ? child.stdin.write("\u0003") : child.kill("SIGINT")),
    type: (text) => void child.stdin.write(text),
    endInput: () => void child.stdin.end(),
    ended,
  };
}

/** Node's option that makes packages of this name missing, for NODE_OPTIONS. */
export function without(...names: readonly string[]): Readonly<Record<string, string>> {
  const hooks = `import { registerHooks } from "node:module";
const missing = ${JSON.stringify(names)};
registerHooks({
  resolve(name, context, next) {
    if (!missing.some((one) => name === one || name.startsWith(one + "/"))) return next(name, context);
    throw Object.assign(new Error("Cannot find package '" + name + "'"), { code: "ERR_MODULE_NOT_FOUND" });
  },
});`;
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hooks)}` };
}

const note = defineTool({
  name: "note",
  description: "Notes a finding.",
  input: z.object({ path: z.string() }),
  execute({ path }) {
    if (path === "b.ts") throw new Error("b.ts is \u001b[2Jnot there.");
    return "noted";
  },
});
const review = definePrompt({ ns: "app", key: "review", sections: [{ key: "task", text: "Review.", tools: [note] }] });

/** A folder with the journal of three runs. */
export async function recorded(kind: "folder" | "sqlite" = "sqlite") {
  const folder = await temporaryFolder();
  const path = join(folder, ".proviso", "runs.db");
  const journal = kind === "folder" ? folderJournal(path) : sqliteJournal(path);
  const call = (id: string, given: string) => ({ id, name: "note", arguments: { path: given } });
  for (const [id, paths] of [
    ["first", ["a.ts", "b.ts"]],
    ["again", ["a.ts", "b.ts"]],
    ["second", ["a.ts", "c.ts"]],
  ] as const) {
    const toolCalls = paths.map((given, n) => call(`c${n + 1}`, given));
    const model = scriptedModel([{ text: "I note that.", toolCalls }, { text: "Done.\n\u001b[31mAll of it." }]);
    await modelAdapter(model).evaluate(review.bind(), { run: journal.run(id) });
  }
  await journal.close();
  return { folder, path, run: (...args: readonly string[]) => inProcess(folder, args) };
}

/** Makes the packages importable for modules that a test writes into its folder. */
export async function modulesBeside(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"));
  for (const name of ["@proviso", "zod"]) {
    await symlink(new URL(`../node_modules/${name}`, import.meta.url).pathname, join(folder, "node_modules", name));
  }
}
