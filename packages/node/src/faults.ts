// What the system refuses, and what becomes of that.
import { FilesystemError, ProvisoError } from "@proviso/core";
import { notFound } from "@proviso/runtime/internal";

/** What the system refuses, as an error of ours that names the path as it was given. */
export function system<T>(path: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw systemError(path, cause);
  }
}

/** Like `system`, for asynchronous work. */
export async function systemAsync<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    throw systemError(path, cause);
  }
}

/** An error of the system as one of ours; any other stays as it is. */
export function systemError(path: string, cause: unknown): unknown {
  const code = codeOf(cause);
  if (cause instanceof ProvisoError || code === undefined) return cause;
  if (code === "ENOENT" || code === "ENOTDIR") return notFound(path);
  const details = { path, cause };
  if (code === "ELOOP") {
    const message = `${path} is a symbolic link; links are not followed.`;
    return new FilesystemError(message, { reason: "outside_root", ...details });
  }
  if (code === "ERR_FS_FILE_TOO_LARGE") {
    return new FilesystemError(`${path} is too large to be read at once.`, { reason: "too_large", ...details });
  }
  const message = `${path === "" ? "The root" : path}: the system refused (${code}).`;
  return new FilesystemError(message, { reason: "failed", ...details });
}

/** The system's code for it, also when it is the cause of one of our errors. */
export function codeOf(error: unknown): string | undefined {
  const own = error instanceof FilesystemError ? error.cause : error;
  if (!(own instanceof Error) || !("code" in own)) return undefined;
  return typeof own.code === "string" ? own.code : undefined;
}

const forRoom = new Set(["ENOSPC", "EDQUOT"]);
const forDescriptors = new Set(["EMFILE", "ENFILE"]);
const passing = new Set(["EAGAIN", "EBUSY", "EINTR", "ENOMEM", "ETXTBSY"]);

/** No bytes, no names or no numbers for files are left on the disk. */
export function lacksRoom(error: unknown): boolean {
  return forRoom.has(codeOf(error) ?? "");
}

/** The process, or the machine, has no descriptors left. */
export function lacksDescriptors(error: unknown): boolean {
  return forDescriptors.has(codeOf(error) ?? "");
}

/** Whether the same work may succeed a moment later, with nothing done about the cause. */
export function isPassing(error: unknown): boolean {
  return lacksDescriptors(error) || passing.has(codeOf(error) ?? "");
}
