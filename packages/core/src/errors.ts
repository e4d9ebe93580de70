import type { SchemaIssue } from "./schema-issue.ts";

/** Base of every error of ours. Branch on `code`, never on `message`. */
export abstract class ProvisoError extends Error {
  abstract readonly code: string;
  /** @param details of which only the cause is taken here, where there is one. */
  constructor(message: string, details?: { readonly cause?: unknown }) {
    super(message, details?.cause === undefined ? undefined : { cause: details.cause });
  }
}

/** A prompt, section, tool, slice, resource or adapter is defined or used wrongly. */
export class DefinitionError extends ProvisoError {
  readonly code = "definition";
  override readonly name = "DefinitionError";
  /**
   * What a schema found wrong with params, an event, an example or an initial state, or what of a schema cannot be
   * printed: the first 100. Empty for every other mistake, whose message says it all.
   */
  readonly issues: readonly SchemaIssue[];
  constructor(
    message: string,
    details: { readonly cause?: unknown; readonly issues?: readonly SchemaIssue[] | undefined } = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.issues = Object.freeze([...(details.issues ?? [])]);
  }
}

/** An option that is declared and not built yet: refused rather than ignored. */
export class NotSupportedError extends ProvisoError {
  readonly code = "not_supported";
  override readonly name = "NotSupportedError";
  /** What was asked for and is not supported. */
  readonly feature: string;
  constructor(feature: string) {
    super(`${feature} is not supported yet.`);
    this.feature = feature;
  }
}

/**
 * A tool's context or resource used after its call was over, a conversation after its function had ended, or the session
 * and resources of a `transaction()` in what its body left.
 */
export class RevokedError extends ProvisoError {
  readonly code = "revoked";
  override readonly name = "RevokedError";
}
