import { memoryFilesystem } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { describeSnapshots, undoable } from "./snapshots.ts";
import { digestOfFolder, temporaryFolder, undoFolder } from "./temporary.ts";

describeSnapshots("memoryFilesystem", async (files) =>
  undoable({ filesystem: memoryFilesystem(files), close: async () => {} }),
);

describeSnapshots("hostFilesystem", async (files) => {
  const { root, close } = await temporaryFolder(files);
  return undoable({ filesystem: hostFilesystem(root), close }, () => digestOfFolder(root, [undoFolder]));
});
