import type { Mutation } from "./mutations.ts";

const node = (file: string): string => `node/src/${file}`;

/** Of the filesystem where something is scarce: `scarce.ts` has to find each. */
export const scarceMutations: readonly Mutation[] = [
  {
    name: "undoing needs a descriptor that is free",
    file: node("undo-reserve.ts"),
    find: "if (lacksDescriptors(error) && descriptors.length > 0) close();",
    replace: "if (descriptors.length < 0) close();",
  },
  {
    name: "undoing needs room on the disk",
    file: node("undo-log.ts"),
    find: "    assertKept(store, change);\n    undo(log, store, change);",
    replace: "    await journal.write(change);\n    undo(log, store, change);",
  },
  {
    name: "a change that failed on its way stays",
    file: node("undo-log.ts"),
    find: "    await withdraw(log, store);\n    throw error;",
    replace: "    log.hasHalf = false;\n    log.changes.pop();\n    throw error;",
  },
  {
    name: "an error of the system is shown as it is",
    file: node("faults.ts"),
    find: "if (cause instanceof ProvisoError || code === undefined) return cause;",
    replace: "return cause;",
  },
];
