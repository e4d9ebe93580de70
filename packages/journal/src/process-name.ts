// The name of the process that writes a run, so that another one can find out whether it lives.
import { systemId } from "@proviso/runtime/internal";

/** What is known of the process behind a writer. */
export type Life = "alive" | "gone" | "unknown";

/** Names writers, and knows whether one of them lives. */
export interface Processes {
  /** A name that no other writer has ever had. */
  newWriter(): string;
  lifeOf(writer: string): Life;
}

const active = new Set<string>();

/** Marks a writer of this process as one that works. Returns what ends that. */
export function working(writer: string): () => void {
  active.add(writer);
  return () => void active.delete(writer);
}

let writers = 0;
let ownName: string | undefined;

/** How the names of this copy of the program begin. Workers of Cloudflare refuse random values while modules are loaded. */
function ownPrefix(): string {
  ownName ??= `js-${systemId()}`;
  return `${ownName}/`;
}

/** Knows the writers of this copy of the program alone: of another process nothing is known. */
export const unknownProcesses: Processes = {
  newWriter: () => `${ownPrefix()}${writers++}`,
  lifeOf: (writer) => (writer.startsWith(ownPrefix()) ? lifeHere(writer) : "unknown"),
};

/** Returns "alive" while a writer of this process works, else "gone". */
export function lifeHere(writer: string): Life {
  return active.has(writer) ? "alive" : "gone";
}
