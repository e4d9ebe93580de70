// A model of a user's own, or one that wraps another, may return anything.
import type { LanguageModelV4StreamPart, LanguageModelV4StreamResult } from "@ai-sdk/provider";
import { describeValue } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { Answer } from "./parts.ts";

/** The failure of a model that returned no answer. */
export class NoAnswer extends Error {
  constructor(method: "doGenerate" | "doStream", wanted: string, given: string) {
    super(`The model's ${method} has to resolve with ${wanted}, not with ${given}.`);
  }
}

/** Returns what `doGenerate` resolved with, without what is no part of an answer. @throws {NoAnswer} */
export function checkedAnswer(given: unknown): Answer {
  const content = isRecord(given) ? given["content"] : undefined;
  if (!isRecord(given) || !Array.isArray(content)) {
    throw new NoAnswer(
      "doGenerate",
      "{ content }, which is a list",
      isRecord(given) ? `{ content: ${describeValue(content)} }` : describeValue(given),
    );
  }
  return content.every(isPart)
    ? (given as unknown as Answer)
    : ({ ...given, content: content.filter(isPart) } as never);
}

/** Returns what `doStream` resolved with. @throws {NoAnswer} */
export function checkedStream(given: unknown): Pick<LanguageModelV4StreamResult, "stream" | "response"> {
  const stream: unknown = isRecord(given) ? given["stream"] : undefined;
  if (isRecord(stream) && typeof stream["getReader"] === "function") return given as never;
  throw new NoAnswer(
    "doStream",
    "{ stream }, which is a ReadableStream",
    isRecord(given) ? `{ stream: ${describeValue(stream)} }` : describeValue(given),
  );
}

/** Whether it is a part of an answer, known or not. */
export function isPart(given: unknown): given is LanguageModelV4StreamPart {
  return isRecord(given) && typeof given["type"] === "string";
}
