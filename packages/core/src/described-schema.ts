import { mapParts, partKeywords, type JsonSchema, type PartKeywords } from "./json-schema.ts";

/** Whether a service takes a keyword with its value. */
export type Takes = (keyword: string, value: unknown) => boolean;

/** What narrows a value. Below `not` and `if` a keyword less would not widen what is allowed, but narrow it. */
const narrowing: PartKeywords = {
  ...partKeywords,
  one: [...partKeywords.one, "contains"],
  lists: [...partKeywords.lists, "allOf"],
};

/** Writes what a service does not take, at every depth, into the description, where the model reads it. */
export function describedSchema(schema: JsonSchema, takes: Takes): JsonSchema {
  const left = Object.entries(schema).filter(([keyword, value]) => !takes(keyword, value));
  const parts = mapParts(schema, (part) => describedSchema(part, takes), narrowing);
  const telling = left.filter((entry) => !isObvious(entry));
  const rest = without(parts, left);
  return telling.length === 0 ? rest : withSentence(rest, sentenceOf(telling));
}

/** Every key is a text: so much is written about each record. */
function isObvious([keyword, value]: readonly [string, unknown]): boolean {
  return keyword === "propertyNames" && JSON.stringify(value) === '{"type":"string"}';
}

function without(schema: JsonSchema, left: readonly (readonly [string, unknown])[]): JsonSchema {
  const keywords = new Set(left.map(([keyword]) => keyword));
  return Object.fromEntries(Object.entries(schema).filter(([keyword]) => !keywords.has(keyword)));
}

/** The schema with a sentence behind its description. */
export function withSentence(schema: JsonSchema, sentence: string): JsonSchema {
  const { description } = schema;
  return { ...schema, description: typeof description === "string" ? `${description}\n${sentence}` : sentence };
}

/** "min length: 1; max length: 280." */
export function sentenceOf(keywords: readonly (readonly [string, unknown])[]): string {
  return `${keywords.map(([keyword, value]) => `${wordsOf(keyword)}: ${textOf(keyword, value)}`).join("; ")}.`;
}

function wordsOf(keyword: string): string {
  return keyword.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** A pattern and a format are text as they are: as JSON a backslash would be two. */
function textOf(keyword: string, value: unknown): string {
  return typeof value === "string" && keyword !== "default" ? value : JSON.stringify(value);
}

/** Whether a pattern looks ahead or behind: no service can compile it, and some refuse the whole request for it. */
export function looksAround(pattern: unknown): boolean {
  const signs = String(pattern).replaceAll(/\\.|\[(?:\\.|[^\]])*\]/gs, "");
  return /\(\?<?[=!]/.test(signs);
}
