import { DefinitionError } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { AttemptRecord } from "../results.ts";
import { parseOwnJson } from "@proviso/core/internal";

/** Reads what this package wrote. @throws for what is no JSON: the file was changed by something else. */
export function parsed<T>(text: unknown): T {
  const json = parseOwnJson(String(text));
  if (!json.ok) throw new DefinitionError(`A file of attempts holds what this package did not write: ${json.error}.`);
  return json.value as T;
}

/**
 * Reads a kept attempt; its repetition, row and variant name it.
 * @throws {DefinitionError} for what this package did not write.
 */
export function parsedAttempt(
  text: unknown,
  file: string,
  [repetition, row, variant]: readonly unknown[],
): AttemptRecord {
  const json = parseOwnJson(String(text));
  if (json.ok && isAttempt(json.value)) return json.value;
  const which = `repetition ${String(repetition)} of the row ${JSON.stringify(row)} with the variant ${JSON.stringify(variant)}`;
  const why = json.ok ? "" : `: ${json.error}`;
  throw new DefinitionError(`The file of attempts ${file} is damaged: what it has for ${which} is no attempt${why}.`);
}

/** Whether a value has the fields of an attempt that are read by name. */
export function isAttempt(value: unknown): value is AttemptRecord {
  if (!isRecord(value)) return false;
  const { rowId, variant, repetition, rowHash, subjectHash, status, scores, usage, judgeUsage, failure, turns } = value;
  const texts = [rowId, variant, rowHash, subjectHash].every((text) => typeof text === "string");
  const numbers = [repetition, turns, value["durationMs"]].every((number) => Number.isFinite(number));
  const ended = status === "answered" || (status === "failed" && isRecord(failure));
  const areScores = isRecord(scores) && Object.values(scores).every(isScore);
  return texts && numbers && ended && areScores && isRecord(usage) && isRecord(judgeUsage);
}

function isScore(score: unknown): boolean {
  return isRecord(score) && (Number.isFinite(score["value"]) || typeof score["unscored"] === "string");
}
