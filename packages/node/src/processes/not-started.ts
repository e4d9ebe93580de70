import { statSync } from "node:fs";
import { resolve } from "node:path";

/** Why a command could not be started, and what to do: the end of a sentence that begins with its name. */
export function whyNotStarted(error: NodeJS.ErrnoException, command: string, cwd: string | undefined): string {
  const folder = cwd === undefined ? undefined : kindOf(cwd);
  if (folder === "nothing") return `could not be started: its folder ${JSON.stringify(cwd)} does not exist.`;
  if (folder === "file") return `could not be started: its cwd ${JSON.stringify(cwd)} is no folder.`;
  const isPath = command.includes("/");
  const found = isPath ? kindOf(resolve(cwd ?? "", command)) : "nothing";
  switch (error.code ?? "") {
    case "ENOENT":
      if (found === "file") return "could not be started: the interpreter in its first line was not found.";
      return isPath ? "does not exist: check its path." : "was not found: give its path, or put its folder on PATH.";
    case "ENOTDIR":
      return "does not exist: a part of its path is no folder.";
    case "EACCES":
      if (found === "folder") return "is a folder: give the path of a program in it.";
      return "may not be run: make it executable (chmod +x), and see that this user may reach it.";
    case "E2BIG":
      return "could not be started: its arguments and variables are too long. Put long texts into the prompt.";
    case "EMFILE":
    case "ENFILE":
      return "could not be started: too many files are open. Evaluate less at the same time, or raise ulimit -n.";
    default:
      return `could not be started: ${error.message}.`;
  }
}

function kindOf(path: string): "nothing" | "folder" | "file" {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return "nothing";
  return found.isDirectory() ? "folder" : "file";
}
