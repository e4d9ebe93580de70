// node race.ts <folder> <arguments> <hash>: sweeps the folder while another process, Node with these arguments, puts the file
// right before it is taken away, and reads it before it is given back. Prints what the other one printed.
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const [root = "", other = "[]", hash = ""] = process.argv.slice(2);
const name = hash.slice(2);
let [put, found] = ["", ""];

function run(...args: readonly string[]): string {
  return spawnSync(process.execPath, [...(JSON.parse(other) as string[]), ...args], { encoding: "utf8" }).stdout;
}

const { renameSync, unlinkSync, linkSync } = fs;
const isFile = (path: unknown): boolean => String(path).endsWith(`/${name}`);
fs.renameSync = (from, to) => {
  if (isFile(from)) put = run("put", "1", "5000");
  renameSync(from, to);
};
fs.unlinkSync = (path) => {
  if (isFile(path)) put = run("put", "1", "5000");
  unlinkSync(path);
};
fs.linkSync = (from, to) => {
  if (isFile(to)) found = run("get", hash);
  linkSync(from, to);
};
syncBuiltinESMExports();
// It takes these functions when it is imported.
const { folderBlobs } = await import("@proviso/node");
const removed = await folderBlobs(root).sweep({ keep: [], olderThanMs: 60_000 });
process.stdout.write(JSON.stringify({ put, found, removed }));
