import { DefinitionError, type JsonPatch } from "@proviso/core";
import { isForbiddenKey, isPlain } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";

type Operation = JsonPatch[number];

/**
 * Returns what makes `after` of `before`; [] where they are equal by reference or by value. It is made for states that
 * share what did not change: it looks into nothing that is the same reference, and only at the changed middle of a list.
 */
export function statePatch(before: unknown, after: unknown): JsonPatch {
  const patch: Operation[] = [];
  difference(before, after, "", patch);
  return patch;
}

function difference(before: unknown, after: unknown, path: string, patch: Operation[]): void {
  if (Object.is(before, after)) return;
  if (Array.isArray(before) && Array.isArray(after)) listDifference(before, after, path, patch);
  else if (isPlain(before) && isPlain(after)) recordDifference(before, after, path, patch);
  else patch.push({ op: "replace", path, value: after });
}

function recordDifference(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  path: string,
  patch: Operation[],
): void {
  for (const key of Object.keys(before)) {
    const at = `${path}/${escaped(key)}`;
    if (Object.hasOwn(after, key)) difference(before[key], after[key], at, patch);
    else patch.push({ op: "remove", path: at });
  }
  for (const key of Object.keys(after)) {
    if (!Object.hasOwn(before, key)) patch.push({ op: "add", path: `${path}/${escaped(key)}`, value: after[key] });
  }
}

function listDifference(before: readonly unknown[], after: readonly unknown[], path: string, patch: Operation[]): void {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let same = 0;
  const lastBefore = before.length - 1;
  const lastAfter = after.length - 1;
  while (same < shorter - start && before[lastBefore - same] === after[lastAfter - same]) same++;
  const removed = before.length - same;
  const added = after.length - same;
  const both = Math.min(removed, added);
  for (let at = start; at < both; at++) difference(before[at], after[at], `${path}/${at}`, patch);
  for (let at = removed - 1; at >= both; at--) patch.push({ op: "remove", path: `${path}/${at}` });
  for (let at = both; at < added; at++) patch.push({ op: "add", path: `${path}/${at}`, value: after[at] });
}

/**
 * Returns a new value with the patch applied; `before` is left alone.
 * @throws {DefinitionError} for a path that is not there, and for a key that could reach a prototype.
 */
export function applyStatePatch(before: unknown, patch: JsonPatch): unknown {
  // Containers that were copied for this patch: they can be changed in place.
  const own = new Set<unknown>();
  let root = before;
  for (const operation of patch) root = applied(root, keysOf(operation.path), 0, operation, own);
  return root;
}

function applied(
  at: unknown,
  keys: readonly string[],
  depth: number,
  operation: Operation,
  own: Set<unknown>,
): unknown {
  const key = keys[depth];
  if (key === undefined) {
    if (operation.op === "remove") throw notThere(operation);
    return operation.value;
  }
  const copy = own.has(at) ? at : copied(at, operation);
  own.add(copy);
  const isLast = depth === keys.length - 1;
  if (Array.isArray(copy)) inList(copy as unknown[], key, operation, isLast, inside);
  else inRecord(copy as Record<string, unknown>, key, operation, isLast, inside);
  return copy;
  function inside(item: unknown): unknown {
    return applied(item, keys, depth + 1, operation, own);
  }
}

function inList(
  list: unknown[],
  key: string,
  operation: Operation,
  isLast: boolean,
  inside: (item: unknown) => unknown,
): void {
  const index = key === "-" ? list.length : /^(?:0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
  const most = isLast && operation.op === "add" ? list.length : list.length - 1;
  if (index < 0 || index > most) throw notThere(operation);
  if (!isLast) list[index] = inside(list[index]);
  else if (operation.op === "add") list.splice(index, 0, operation.value);
  else if (operation.op === "remove") list.splice(index, 1);
  else list[index] = operation.value;
}

function inRecord(
  record: Record<string, unknown>,
  key: string,
  operation: Operation,
  isLast: boolean,
  inside: (item: unknown) => unknown,
): void {
  const isThere = Object.hasOwn(record, key);
  if (isForbiddenKey(key)) throw new DefinitionError(`The key "${key}" of a patch could reach a prototype.`);
  if (!isThere && !(isLast && operation.op === "add")) throw notThere(operation);
  if (!isLast) record[key] = inside(record[key]);
  else if (operation.op === "remove") delete record[key];
  else record[key] = operation.value;
}

function copied(value: unknown, operation: Operation): unknown {
  if (Array.isArray(value)) return [...(value as unknown[])];
  if (isRecord(value)) return { ...value };
  throw notThere(operation);
}

function keysOf(path: string): readonly string[] {
  if (path === "") return [];
  if (!path.startsWith("/")) throw new DefinitionError(`"${path}" is no path of a patch: it begins with "/".`);
  return path
    .slice(1)
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function escaped(key: string): string {
  return key.includes("~") || key.includes("/") ? key.replaceAll("~", "~0").replaceAll("/", "~1") : key;
}

function notThere({ op, path }: Operation): DefinitionError {
  return new DefinitionError(`The patch cannot ${op} "${path}": the state has nothing there.`);
}
