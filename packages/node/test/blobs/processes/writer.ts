// node writer.ts <folder> <mode> …: another process that uses a folder of files.
// put <number> <size>: puts so many files that every process makes alike, and prints each hash when it is kept.
// get <hash>: prints how many bytes there are.
// full: puts files until the disk is full; prints the error, then whether all that was kept is whole.
import { BlobError } from "@proviso/core";
import { folderBlobs } from "@proviso/node";

const [root = "", mode = "", first = "0", second = "0"] = process.argv.slice(2);
const blobs = folderBlobs(root);
const print = (text: unknown): void => void process.stdout.write(`${String(text)}\n`);
const fileOf = (n: number, size: number): Uint8Array => new Uint8Array(size).fill(n % 251).fill(n >> 8, 0, 1);

if (mode === "put") {
  for (let n = 0; n < Number(first); n++) print((await blobs.put(fileOf(n, Number(second)))).hash);
}
if (mode === "get") print((await blobs.get(first))?.length);
if (mode === "full") {
  const kept: string[] = [];
  for (let n = 0; ; n++) {
    try {
      kept.push((await blobs.put(fileOf(n, Number(first)))).hash);
    } catch (error) {
      print(error instanceof BlobError ? `${error.reason} ${kept.length}` : error);
      break;
    }
  }
  const whole = await Promise.all(kept.map((hash) => blobs.get(hash)));
  print(whole.filter((bytes) => bytes?.length === Number(first)).length);
}
