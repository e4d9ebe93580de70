import type { Approval, ApprovalRequest } from "@proviso/toolkit";
import { createInterface, type Interface } from "node:readline/promises";

/**
 * Asks the person at the terminal: yes, no with a reason, or other arguments. Where there is no terminal nobody can
 * approve, so it is denied. The question goes away with the evaluation; Ctrl-C calls `interrupt`.
 */
export function askAtTerminal(interrupt: () => void): (request: ApprovalRequest) => Promise<Approval> {
  return async ({ tool, input, signal }) => {
    if (!process.stdin.isTTY) return { approved: false, reason: "nobody is at the terminal" };
    const terminal = createInterface({ input: process.stdin, output: process.stdout });
    terminal.on("SIGINT", interrupt);
    try {
      return await answered(terminal, `${tool.name} ${JSON.stringify(input)}`, signal);
    } finally {
      terminal.close();
    }
  };
}

async function answered(terminal: Interface, call: string, signal: AbortSignal): Promise<Approval> {
  for (;;) {
    const answer = (await terminal.question(`${call}? yes, no or edit: `, { signal })).trim().toLowerCase();
    if (answer === "yes" || answer === "y") return { approved: true };
    if (answer === "no" || answer === "n") {
      return { approved: false, reason: (await terminal.question("Why not? ", { signal })).trim() || undefined };
    }
    if (answer !== "edit" && answer !== "e") continue;
    try {
      return { approved: true, input: JSON.parse(await terminal.question("Arguments as JSON: ", { signal })) };
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      console.log(`That is no JSON: ${error.message}`);
    }
  }
}
