import { mkdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import type { Host } from "./host-support.ts";
import { undoFolder } from "./temporary.ts";

export function logLine(record: object): string {
  const json = JSON.stringify(record);
  return `${crc32(json).toString(16)} ${json}\n`;
}

/** As a process leaves it that dies in a call which had written over file.txt. */
export async function leftBehind(
  { root }: Pick<Host, "root">,
  owner: object | undefined,
  records: readonly object[] = [{ path: "file.txt", had: true, was: "1" }],
  identity: object = {},
): Promise<void> {
  const store = join(root, undoFolder);
  await mkdir(store);
  const { dev, ino } = await stat(store, { bigint: true });
  const header = logLine({ proviso: 2, device: `${dev}`, inode: `${ino}`, ...identity });
  const notes = `${" ".repeat(79)}\n`.repeat(2);
  await writeFile(join(store, "log"), header + notes + records.map(logLine).join(""));
  await writeFile(join(store, "1"), "before");
  if (owner !== undefined) await symlink(JSON.stringify(owner), join(store, "lock-1"));
}
