import { ProvisoError } from "./errors.ts";

/** Why a filesystem refused or failed; the `reason` of a FilesystemError. */
export type FilesystemFault =
  | "not_found"
  | "invalid_path"
  | "not_a_file"
  | "not_a_directory"
  | "outside_root"
  | "special_file"
  | "read_only"
  | "too_large"
  | "busy"
  | "failed";

/** A filesystem refused or failed; a tool that lets it pass shows its message to the model. */
export class FilesystemError extends ProvisoError {
  readonly code = "filesystem";
  override readonly name = "FilesystemError";
  /** What is wrong with the path or the system. */
  readonly reason: FilesystemFault;
  /** The path exactly as the caller passed it. */
  readonly path: string;
  constructor(
    message: string,
    details: { readonly reason: FilesystemFault; readonly path: string; readonly cause?: unknown },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.path = details.path;
  }
}
