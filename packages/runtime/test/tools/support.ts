import { defineTool, Filesystem, provide, resourceKey, toolError, type Snapshotable } from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { z } from "zod";
import { digestOf, digestOfState, noted, notes } from "../state/support.ts";

export * from "../state/support.ts";

/** A resource of somebody else's that takes part in transactions, in its own time. */
export class Ledger implements Snapshotable<readonly string[]> {
  entries: readonly string[] = [];
  async add(entry: string): Promise<void> {
    await Promise.resolve();
    this.entries = [...this.entries, entry];
  }
  async snapshot(): Promise<readonly string[]> {
    await Promise.resolve();
    return this.entries;
  }
  async restore(snapshot: readonly string[]): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.entries = snapshot;
  }
}
export const LedgerKey = resourceKey<Ledger>("Ledger");

const ways = z.enum(["succeed", "toolError", "throw", "throw text", "reject", "not JSON", "hang"]);

/** Writes to session, filesystem and ledger, then ends as it was told. */
export const write = defineTool({
  name: "write",
  description: "Writes.",
  input: z.object({ text: z.string(), end: ways.default("succeed") }),
  timeoutMs: 1_000,
  async execute({ text, end }, { session, resources }): Promise<unknown> {
    session.dispatch(noted({ text }));
    const files = resources.get(Filesystem);
    await files.write(`folder/${text}.txt`, text);
    if (await files.exists("old.txt")) await files.remove("old.txt");
    await resources.get(LedgerKey).add(text);
    switch (end) {
      case "toolError":
        return toolError("it failed");
      case "throw":
        throw new Error("it threw");
      case "throw text":
        throw "a text";
      case "reject":
        return Promise.reject(new Error("it rejected"));
      case "not JSON":
        return () => {};
      case "hang":
        return new Promise(() => {});
      case "succeed":
        return `wrote ${text}`;
    }
  },
});

export const writing = (text: string, end?: z.infer<typeof ways>) => ({
  name: "write",
  arguments: end === undefined ? { text } : { text, end },
});

/** A session, a filesystem and a ledger with something in each, and all of it as one digest. */
export function world() {
  const session = createSession({ slices: [notes] });
  session.dispatch(noted({ text: "before" }));
  const filesystem = memoryFilesystem({ "old.txt": "old", "folder/kept.txt": "kept" });
  const ledger = new Ledger();
  ledger.entries = ["before"];
  const digest = async () => [digestOfState(session, notes), await digestOf(filesystem), ledger.entries.join()];
  const resources = [provide(Filesystem, filesystem), provide(LedgerKey, ledger)];
  return { session, filesystem, ledger, resources, digest };
}
