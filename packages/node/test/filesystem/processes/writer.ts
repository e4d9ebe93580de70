// node writer.ts <root> <name> <calls>: so many calls, each with two changes, asked for again while another process is at it.
import { FilesystemError, isSnapshotable } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";

const [, , root = "", name = "", calls = ""] = process.argv;
const files = hostFilesystem(root);
if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");

async function untilFree(change: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      await change();
      return;
    } catch (error) {
      if (!(error instanceof FilesystemError && error.reason === "busy")) throw error;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }
}

for (let call = 0; call < Number(calls); call++) {
  const snapshot = await files.snapshot();
  await untilFree(() => files.write(`${name}/${call}.txt`, "x"));
  await files.write("shared.txt", `${name} ${call}`);
  if (call % 5 === 4) await files.restore(snapshot);
  await files.release?.(snapshot);
}
