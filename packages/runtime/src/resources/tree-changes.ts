// What changed between two trees of files, as plain JSON. Folders that both share are not looked into.
import { isFile, type MemoryFolder, type MemoryNode, type MemoryTree } from "./memory-tree.ts";

/** One change: a file's content, a folder without files, or what is gone. */
export type TreeChange =
  | { readonly path: string; readonly text: string }
  | { readonly path: string; readonly base64: string }
  | { readonly path: string; readonly kind: "directory" | "removed" };

/** Returns the changes that make the one tree of the other; undefined: there are none. */
export function treeChanges(before: MemoryFolder, after: MemoryFolder): readonly TreeChange[] | undefined {
  if (before === after) return undefined;
  const changes: TreeChange[] = [];
  compareFolders(before, after, "", changes);
  return changes.length === 0 ? undefined : changes;
}

function compareFolders(before: MemoryFolder, after: MemoryFolder, prefix: string, changes: TreeChange[]): void {
  if (before === after) return;
  for (const [name] of before.entries()) {
    if (after.get(name) === undefined) changes.push({ path: prefix + name, kind: "removed" });
  }
  for (const [name, node] of after.entries()) compareNodes(before.get(name), node, prefix + name, changes);
}

function compareNodes(before: MemoryNode | undefined, after: MemoryNode, path: string, changes: TreeChange[]): void {
  if (before === after) return;
  if (isFile(after)) {
    if (before !== undefined && !isFile(before)) changes.push({ path, kind: "removed" });
    changes.push(fileChange(path, after));
    return;
  }
  if (before !== undefined && !isFile(before)) return compareFolders(before, after, `${path}/`, changes);
  if (before !== undefined) changes.push({ path, kind: "removed" });
  changes.push({ path, kind: "directory" });
  for (const [name, node] of after.entries()) compareNodes(undefined, node, `${path}/${name}`, changes);
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A text as it is, other bytes in base64. */
function fileChange(path: string, bytes: Uint8Array): TreeChange {
  try {
    return { path, text: decoder.decode(bytes) };
  } catch {
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    return { path, base64: btoa(binary) };
  }
}

const encoder = new TextEncoder();

/** Does the changes again. @throws {FilesystemError} for a tree that they were not made of. */
export function applyChanges(tree: MemoryTree, changes: readonly TreeChange[]): void {
  for (const change of changes) {
    const { path } = change;
    if ("text" in change) tree.write(path, encoder.encode(change.text));
    else if ("base64" in change)
      tree.write(
        path,
        Uint8Array.from(atob(change.base64), (unit) => unit.charCodeAt(0)),
      );
    else if (change.kind === "directory") tree.makeFolder(path);
    else tree.remove(path);
  }
}
