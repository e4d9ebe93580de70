import { ProvisoError } from "./errors.ts";

/** What is wrong with the bytes of a file; the `reason` of a BlobError. */
export type BlobFault = "missing" | "damaged" | "too_large" | "media_type" | "failed";

/** The bytes of a file cannot be had, kept or believed: the cause of a PromptRenderError, or a tool's failure. */
export class BlobError extends ProvisoError {
  readonly code = "blob";
  override readonly name = "BlobError";
  /** What is wrong. */
  readonly reason: BlobFault;
  /** The SHA-256 of the bytes, hexadecimal; undefined where it is not known. */
  readonly hash: string | undefined;
  /** The name of the file; undefined where it is not known. */
  readonly file: string | undefined;
  constructor(
    message: string,
    details: {
      readonly reason: BlobFault;
      readonly hash?: string | undefined;
      readonly file?: string | undefined;
      readonly cause?: unknown;
    },
  ) {
    super(message, details);
    this.reason = details.reason;
    this.hash = details.hash;
    this.file = details.file;
  }
}
