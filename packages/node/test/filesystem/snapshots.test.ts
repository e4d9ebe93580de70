import { memoryFilesystem } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { inject } from "vitest";
import { describeSnapshots, undoable } from "./snapshots.ts";
import { digestOfFolder, temporaryFolder, undoFolder } from "./temporary.ts";

const runs = inject("exhaustive") ? 100 : 10;

describeSnapshots("memoryFilesystem", runs, async (files) =>
  undoable({ filesystem: memoryFilesystem(files), close: async () => {} }),
);

describeSnapshots("hostFilesystem", runs, async (files) => {
  const { root, close } = await temporaryFolder(files);
  return undoable({ filesystem: hostFilesystem(root), close }, () => digestOfFolder(root, [undoFolder]));
});
