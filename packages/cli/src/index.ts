export { runCommandLine } from "./command-line.ts";
export { defineConfig } from "./config.ts";
export type { ProvisoConfig } from "./config.ts";
export type { RunJson } from "./run-command.ts";
export type { CommandOutput, CommandWorld, ExitCode } from "./world.ts";
