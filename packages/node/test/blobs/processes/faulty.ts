// node faulty.ts <folder>: puts, reads and sweeps files while one call of the system after another fails, each with several
// codes. Prints what went wrong, and how many faults there were.
import { BlobError } from "@proviso/core";
import fs, { readdirSync, rmSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [, , root = ""] = process.argv;
const names = "renameSync linkSync unlinkSync mkdirSync openSync fstatSync lstatSync readlinkSync futimesSync";
let [calls, failAt, code, failed] = [0, -1, "", ""];

function fails(name: string): boolean {
  if (++calls !== failAt) return false;
  failed = name;
  return true;
}
const fault = (name: string): Error => Object.assign(new Error(`${name}: ${code}`), { code, syscall: name });

for (const name of names.split(" ") as "renameSync"[]) {
  const call = fs[name];
  fs[name] = (...inputs) => {
    if (fails(name)) throw fault(name);
    return call(...inputs);
  };
}
for (const name of ["fsync", "write", "readFile"] as "fsync"[]) {
  const call = fs[name] as (...inputs: unknown[]) => void;
  (fs as Record<string, unknown>)[name] = (...inputs: unknown[]) => {
    const answer = inputs.at(-1) as (error: Error) => void;
    if (fails(name)) return answer(fault(name));
    return call(...inputs);
  };
  // What promisify makes of them is said by a property of theirs.
  Object.defineProperties(fs[name], Object.getOwnPropertyDescriptors(call));
}
syncBuiltinESMExports();
// It takes these functions when it is imported.
const { folderBlobs } = await import("@proviso/node");

const wrong: string[] = [];
let faults = 0;
const bytes = new Uint8Array(1_100_000).fill(7);

/** Puts the bytes twice, reads them and sweeps. */
async function scenario(at: string): Promise<void> {
  const blobs = folderBlobs(at);
  const { hash } = await blobs.put(bytes);
  await blobs.put(bytes);
  await blobs.get(hash);
  await blobs.sweep({ keep: [], olderThanMs: 0 });
}

for (code of ["ENOSPC", "EIO"]) {
  for (let isAtEnd = false, n = 1; !isAtEnd; n++) {
    const at = `${root}/${code}-${n}`;
    [calls, failAt, failed] = [0, n, ""];
    let told: Error | undefined;
    await scenario(at).catch((error: Error) => (told = error));
    isAtEnd = failed === "";
    if (!isAtEnd) faults++;
    failAt = -1;
    const where = `${code} in call ${n} (${failed})`;
    if (told !== undefined && !(told instanceof BlobError)) wrong.push(`${where}: ${String(told)}`);
    else if (told instanceof BlobError && told.reason !== "failed") wrong.push(`${where}: ${told.reason}`);
    // Afterwards it works as ever, and a half file is left only where even deleting it failed.
    const blobs = folderBlobs(at);
    const { hash } = await blobs.put(bytes);
    if ((await blobs.get(hash))?.length !== bytes.length) wrong.push(`${where}: not whole afterwards`);
    const left = readdirSync(at, { recursive: true }).filter((name) => String(name).endsWith(".new"));
    if (left.length > 0 && failed !== "unlinkSync") wrong.push(`${where}: left ${left.join(" ")}`);
    rmSync(at, { recursive: true });
  }
}
process.stdout.write(JSON.stringify({ wrong, faults }));
