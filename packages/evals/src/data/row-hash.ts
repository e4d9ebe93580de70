// The hash of a row's content. What JSON would write as an empty object is hashed by its bytes, or refused.
import { contentHash, isPlatformFile } from "@proviso/core/internal";
import { hashOf } from "@proviso/runtime/internal";

/**
 * Hashes the content of a row. A File counts by its name, type and bytes.
 * @throws for what cannot be written as JSON, with its path, and for a file that cannot be read.
 */
export async function rowHash(row: object): Promise<string> {
  // First: it refuses what holds itself.
  const hash = contentHash(row);
  const files: PlacedFile[] = [];
  findFiles(row, [], files);
  if (files.length === 0) return hash;
  const contents = await Promise.all(files.map(async ({ path, file }) => [path, await fileContent(file)] as const));
  return contentHash({ row, files: contents });
}

interface PlacedFile {
  readonly path: string;
  readonly file: File;
}

function findFiles(value: unknown, path: (string | number)[], files: PlacedFile[]): void {
  if (typeof value !== "object" || value === null) return;
  if (isPlatformFile(value)) return void files.push({ path: textOf(path), file: value });
  if ("toJSON" in value || (ArrayBuffer.isView(value) && "length" in value)) return;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  let isEmpty = true;
  for (const [key, item] of entries) {
    isEmpty = false;
    path.push(key);
    findFiles(item, path, files);
    path.pop();
  }
  const kind = isEmpty ? Object.prototype.toString.call(value).slice("[object ".length, -1) : "Object";
  if (kind === "Object" || kind === "Array") return;
  throw new Error(`"${textOf(path)}" is a ${kind}, which JSON does not have; give a list or an object`);
}

function textOf(path: readonly (string | number)[]): string {
  return path.map((key, at) => (typeof key === "number" ? `[${key}]` : at === 0 ? key : `.${key}`)).join("");
}

/** What a file is to the model. */
interface FileContent {
  readonly name: string;
  readonly type: string;
  readonly hash: string;
}

/** The platform's files do not change: what was read of one holds for it. */
const contents = new WeakMap<File, Promise<FileContent>>();

/** Reads a file once. @throws where it cannot be read. */
export function fileContent(file: File): Promise<FileContent> {
  let content = contents.get(file);
  if (content === undefined) {
    contents.set(file, (content = readContent(file)));
    content.catch(() => contents.delete(file));
  }
  return content;
}

async function readContent(file: File): Promise<FileContent> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return { name: file.name, type: file.type, hash: await hashOf(bytes) };
}
