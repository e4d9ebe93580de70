export { runCommandLine } from "./command-line.ts";
export type { CommandOutput, CommandWorld, ExitCode } from "./world.ts";
