// How many tokens a text has, roughly, without a tokenizer: one pass over its UTF-16 units, with nothing
// allocated for them.
//
// A tokenizer cuts a text into pieces first (a word with the blank before it, digits, a run of punctuation, a run of
// blanks), then each piece into tokens. The pieces are counted as o200k_base cuts them; how many tokens a piece of so
// many units has was measured on texts of several languages and kinds (`pnpm bench tokens` prints how near it comes).
import type { AssistantMessage, JsonSchema, Message, ModelRequest, FileLike, FileRef } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";
import { isPlatformFile, keptBytes } from "@proviso/core/internal";

/** What a unit belongs to; a piece has the kind of its units, a word that of its letters. */
const none = 0;
const lowerCase = 1;
const upperCase = 2;
/** Two capital letters or more, which a small letter does not go on with: "HTMLElement" is two words. */
const capitals = 3;
const digit = 4;
/** A single one is part of the word that follows. */
const blank = 5;
const blanks = 6;
const lineEnd = 7;
const mark = 8;
/** Chinese, Japanese, Korean: hardly a unit is part of a longer token. */
const ideograph = 9;
/** One half of a character beyond 16 bits, an emoji mostly. */
const half = 10;
const kinds = 11;

/** Tokens of a piece: of its first unit, how many units are in that, and of each further one. */
const costs: Readonly<Record<number, readonly [first: number, within: number, each: number]>> = {
  [lowerCase]: [1, 6, 1 / 3],
  [upperCase]: [1, 1, 0],
  [capitals]: [1, 2, 1 / 3],
  [digit]: [1, 3, 1 / 3],
  [blanks]: [1, 1, 0],
  [lineEnd]: [1, 1, 0],
  [mark]: [1, 2.5, 1 / 2.5],
  [ideograph]: [0.9, 1, 0.9],
  [half]: [1, 1, 1],
};
const column = (at: 0 | 1 | 2): Float64Array =>
  Float64Array.from({ length: kinds }, (_, kind) => costs[kind]?.[at] ?? 0);
const first = /* @__PURE__ */ column(0);
const within = /* @__PURE__ */ column(1);
const each = /* @__PURE__ */ column(2);

/** What a letter costs on top where a word has it: of Latin beyond ASCII, and of other scripts with blanks. */
const tokensPerAccent = 0.35;
const tokensPerForeignLetter = 0.15;

/** The kind that a piece has with one unit more, by its own kind and the unit's. Any other unit begins another piece. */
const joinedKinds = [
  [lowerCase, lowerCase, lowerCase],
  [upperCase, lowerCase, lowerCase],
  [upperCase, upperCase, capitals],
  [capitals, upperCase, capitals],
  [digit, digit, digit],
  [blank, blank, blanks],
  [blanks, blank, blanks],
  [blank, lineEnd, lineEnd],
  [blanks, lineEnd, lineEnd],
  [lineEnd, lineEnd, lineEnd],
  [lineEnd, blank, lineEnd],
  [mark, mark, mark],
  [mark, lineEnd, mark],
  [ideograph, ideograph, ideograph],
  [half, half, half],
] as const;
const joined = /* @__PURE__ */ tableOf(joinedKinds);

const asciiKinds = /* @__PURE__ */ Uint8Array.from({ length: 128 }, (_, unit) => {
  const text = String.fromCharCode(unit);
  if (/[a-z]/.test(text)) return lowerCase;
  if (/[A-Z]/.test(text)) return upperCase;
  if (/\d/.test(text)) return digit;
  if (/[\r\n]/.test(text)) return lineEnd;
  return unit <= 32 ? blank : mark;
});

function tableOf(rows: typeof joinedKinds): Uint8Array {
  const table = new Uint8Array(kinds * kinds);
  for (const [piece, unit, result] of rows) table[piece * kinds + unit] = result;
  return table;
}

/** Units of a text that are all looked at. Of a longer one it is the first quarter of each block. */
const wholeLength = 131_072;
const blockLength = 4_096;
const sampleLength = blockLength / 4;

/** An estimate of a text's tokens: 0.8 to 1.5 of the real count for prose, JSON and source code. */
export function estimatedTokens(text: string): number {
  const { length } = text;
  if (length <= wholeLength) return Math.ceil(tokensBetween(text, 0, length));
  let tokens = 0;
  let looked = 0;
  for (let from = 0; from < length; from += blockLength) {
    const to = Math.min(length, from + sampleLength);
    tokens += tokensBetween(text, from, to);
    looked += to - from;
  }
  return Math.ceil((tokens * length) / looked);
}

function tokensBetween(text: string, from: number, to: number): number {
  let tokens = 0;
  let piece = none;
  let start = from;
  for (let i = from; i < to; i++) {
    const unit = text.charCodeAt(i);
    const kind = unit < 128 ? (asciiKinds[unit] as number) : kindOf(unit);
    if (unit >= 0xc0 && kind === lowerCase) tokens += unit < 0x250 ? tokensPerAccent : tokensPerForeignLetter;
    const whole = joined[piece * kinds + kind] as number;
    if (whole === none) {
      tokens += costOf(piece, i - start);
      start = i;
      piece = kind;
    } else piece = whole;
  }
  return tokens + costOf(piece, to - start);
}

function costOf(piece: number, units: number): number {
  const more = units - (within[piece] as number);
  return (first[piece] as number) + (more > 0 ? more * (each[piece] as number) : 0);
}

/**
 * Classifies a unit beyond ASCII; letters of all scripts with blanks count as small letters. Source of the ranges:
 * Unicode's blocks.
 */
function kindOf(unit: number): number {
  if (unit >= 0xd800 && unit <= 0xdfff) return half;
  if (unit === 0xa0 || unit === 0x3000 || (unit >= 0x2000 && unit <= 0x200a)) return blank;
  if (unit < 0xc0 || (unit > 0x200a && unit < 0x2c00)) return mark;
  if (unit >= 0x2e80 && unit < 0xa000) return ideograph;
  if ((unit >= 0xac00 && unit < 0xd7b0) || (unit >= 0xf900 && unit < 0xfb00) || unit >= 0xff00) return ideograph;
  return lowerCase;
}

/** UTF-16 units of what a model reads of a message. */
export function charactersOf(message: Message): number {
  if (message.role !== "assistant") return message.text.length;
  let characters = message.text.length;
  for (const call of message.toolCalls) characters += call.name.length + textOf(call.arguments).length;
  return characters;
}

/** A provider may have left the arguments out, or handed on what it parsed. */
function textOf(given: unknown): string {
  return typeof given === "string" ? given : "";
}

/** Tokens of what a model reads of a message, with what is around it: its role, its ids. An estimate. */
export function tokensOf(message: Message, bound?: FileBound): number {
  const { text } = message;
  return (
    tokensAroundMessage +
    fileTokensIn(message, bound) +
    (message.role === "assistant" ? answerTokensOf(message) : estimatedTokens(text))
  );
}

/** Tokens that a model has answered with: its text and its calls. An estimate. */
export function answerTokensOf({ text, toolCalls }: Pick<AssistantMessage, "text" | "toolCalls">): number {
  return toolCalls.reduce(
    (sum, { name, arguments: given }) =>
      sum + tokensAroundCall + estimatedTokens(name) + estimatedTokens(textOf(given)),
    estimatedTokens(text),
  );
}

/** Services count 3 to 12 around a message, and as many around all of them. */
const tokensAroundMessage = 8;
const tokensAroundCall = 8;
const tokensAroundRequest = 12;

/** What is sent beside the messages. */
export type SentBeside = Pick<ModelRequest, "tools" | "output">;

/** What a provider reported for a request and its answer: so many messages, answer included, and their tokens. */
export interface KnownCost {
  readonly messages: number;
  readonly tokens: number;
}

/**
 * The input of a request: what the turn before was reported to have cost counts for the messages up to its answer, the
 * rest is an estimate. `correction`: how many times the estimate of an earlier turn's input were really counted.
 */
export function inputTokensOf(
  request: SentBeside,
  history: { tokensFrom(index: number): number; tokensBeside(request: SentBeside): number },
  { known, correction = 1 }: { readonly known?: KnownCost | undefined; readonly correction?: number | undefined } = {},
): number {
  if (known !== undefined) return known.tokens + Math.ceil(history.tokensFrom(known.messages) * correction);
  return Math.ceil((history.tokensFrom(0) + history.tokensBeside(request)) * correction);
}

/** Estimates the tokens of what goes beside the messages: the tools, the output's schema, and what is around them. */
export function tokensBeside({ tools, output }: SentBeside): number {
  const ofTools = tools.reduce((sum, tool) => sum + toolTokens(tool), tokensAroundRequest);
  return output === undefined ? ofTools : ofTools + schemaTokens(output.schema);
}

/** Returns by how much an estimate was wrong, within reason: a count that is far off counts something else. */
export function correctionOf(reportedTokens: number, estimate: number): number {
  return Math.min(3, Math.max(0.5, reportedTokens / Math.max(1, estimate)));
}

function toolTokens({ name, description, inputSchema }: ToolSpec): number {
  return tokensAroundCall + estimatedTokens(name) + estimatedTokens(description) + schemaTokens(inputSchema);
}

const tokensOfSchemas = new WeakMap<JsonSchema, number>();

/** A schema is written and counted once. */
function schemaTokens(schema: JsonSchema): number {
  let tokens = tokensOfSchemas.get(schema);
  if (tokens === undefined) {
    tokens = estimatedTokens(JSON.stringify(schema));
    tokensOfSchemas.set(schema, tokens);
  }
  return tokens;
}

const leastOfImage = 1_120;
const ofUnknownImage = 15_000;
const ofPage = 3_000;
const mostPages = 100;
const ofSecond = 50;
/** A second of sound has at least so many bytes. */
const bytesOfSecond = 1_000;

/** An adapter's own bound of a file's tokens; undefined where it has none. */
export type FileBound = (file: FileRef) => number | undefined;

/** Tokens of a message's files: an upper bound, by the adapter, or by the table of `specs/files.md`. */
export function fileTokensIn({ files }: Message, bound?: FileBound): number {
  if (files === undefined) return 0;
  return files.reduce((sum, { file }) => sum + tokensOfFile(file, bound), 0);
}

/** Tokens of one file: an upper bound. The header of the platform's `File` has not been read yet. */
export function tokensOfFile(given: FileLike, bound?: FileBound): number {
  const file = isPlatformFile(given) ? unread(given) : given;
  const own = bound?.(file);
  return own !== undefined && own >= 0 && Number.isFinite(own) ? Math.ceil(own) : byTable(file);
}

function unread({ name, type, size }: File): FileRef {
  return { kind: "stored", name, mediaType: type.toLowerCase(), hash: "", bytes: size };
}

function byTable(file: FileRef): number {
  const [kind] = file.mediaType.split("/");
  if (kind === "image") return imageTokens(file);
  if (file.mediaType === "application/pdf") return ofPage * (pagesOf(file) ?? mostPages);
  if (file.kind !== "stored") return ofUnknownImage;
  if (kind === "audio" || kind === "video") return Math.ceil((file.bytes / bytesOfSecond) * ofSecond);
  return file.bytes;
}

function imageTokens(file: FileRef): number {
  if (file.kind !== "stored" || file.width === undefined || file.height === undefined) return ofUnknownImage;
  return Math.max(leastOfImage, Math.ceil(1.2 * Math.ceil(file.width / 32) * Math.ceil(file.height / 32)));
}

const pages = new WeakMap<FileRef, number>();

/** The pages that a PDF names; undefined where its objects are compressed or its bytes are not here. */
function pagesOf(file: FileRef): number | undefined {
  const bytes = file.kind === "stored" ? keptBytes(file) : undefined;
  if (bytes === undefined) return undefined;
  let count = pages.get(file);
  if (count === undefined) {
    const text = new TextDecoder("latin1").decode(bytes);
    count = text.includes("/ObjStm") ? 0 : (text.match(/\/Type\s*\/Page(?![A-Za-z])/g)?.length ?? 0);
    pages.set(file, count);
  }
  return count === 0 ? undefined : count;
}
