import type { ModelFailure } from "@proviso/core";
import type { Environment, LogLevel } from "@proviso/runtime";
import { logSafely, openSecrets, redactionOf } from "@proviso/runtime/internal";

/**
 * Returns a function that removes the secrets from the texts, payload and cause of a failure, for a model that is used
 * without an adapter.
 */
export function failureRedactor(secrets: readonly string[]): (failure: ModelFailure) => ModelFailure {
  return redactionOf(openSecrets(secrets)).failure;
}

/** A logger's records without the secrets; one that fails changes nothing. */
export function logOf({ logger, secrets }: Environment): (level: LogLevel, fields: object, message: string) => void {
  if (logger === undefined) return () => {};
  const redaction = redactionOf(openSecrets(secrets));
  return (level, fields, message) => logSafely(logger, level, () => redaction.log(fields), message);
}
