// A conversation as one model takes it. Each message is made anew once and kept, so that a wire writes it once.
import type { FileRef, FileSupport, Message, PlacedFile, PromptMessage, StoredFile, ToolMessage } from "@proviso/core";
import { frozenInDepth, keptBytes, labelOf } from "@proviso/core/internal";
import { failure, isFailure, type Failure } from "../failures.ts";
import type { TakesFiles } from "./contract.ts";

/** 50 MiB. */
const usualTotal = 52_428_800;
const usualCount = 100;
/** UTF-8 bytes of a file that goes as text. */
const longestText = 262_144;

interface Memory {
  readonly messages: WeakMap<Message, Message>;
  /** The inserted messages, under the first tool message of their turn. */
  readonly behind: WeakMap<Message, PromptMessage>;
}
const memories = new WeakMap<object, Memory>();
const forNone: object = {};

/** The messages for a model; for a chain as they are, where one of its models takes them. Why none of them can be sent. */
export function messagesForAny(messages: readonly Message[], by: TakesFiles): readonly Message[] | Failure {
  if (by.takers === undefined) return messagesFor(messages, by);
  const refused: Failure[] = [];
  for (const taker of by.takers) {
    const sent = messagesForAny(messages, taker);
    if (!isFailure(sent)) return messages;
    refused.push(sent);
  }
  return badRequest(refused.map(({ message }) => message).join(" "));
}

/** The messages with all that the model takes where it takes it; why it cannot be sent. */
function messagesFor(messages: readonly Message[], by: TakesFiles): readonly Message[] | Failure {
  const support = by.capabilities?.files;
  const memory = memoryOf(support ?? forNone);
  const sent: Message[] = [];
  let answers: ToolMessage[] = [];
  const endTurn = (): void => {
    const inserted = answers.length === 0 ? undefined : insertedBehind(answers, support, memory);
    if (inserted !== undefined) sent.push(inserted);
    answers = [];
  };
  for (const [index, message] of messages.entries()) {
    if (message.role !== "tool") endTurn();
    if (message.files === undefined) {
      if (message.role === "tool") answers.push(message);
      sent.push(message);
      continue;
    }
    if (message.role === "system") sent.push(message);
    else if (message.role === "tool") {
      answers.push(message);
      sent.push(kept(memory, message, () => toolMessageFor(message, by)));
    } else if (message.role === "assistant") {
      sent.push(support?.inAnswers === undefined ? kept(memory, message, () => withLabels(message)) : message);
    } else {
      const refused = message.files.find(({ file }) => !isTaken(file, support) && textIn(file) === undefined);
      if (refused !== undefined) return refusal(by, refused.file, index);
      sent.push(kept(memory, message, () => userMessageFor(message, support)));
    }
  }
  endTurn();
  return tooMuch(sent, by) ?? Object.freeze(sent);
}

function memoryOf(support: object): Memory {
  let memory = memories.get(support);
  if (memory === undefined) memories.set(support, (memory = { messages: new WeakMap(), behind: new WeakMap() }));
  return memory;
}

function kept(memory: Memory, message: Message, make: () => Message): Message {
  let made = memory.messages.get(message);
  if (made === undefined) memory.messages.set(message, (made = make()));
  return made;
}

/** Whether a model takes the file in a message of this kind. */
function isTaken(file: FileRef, support: FileSupport | undefined, place: "user" | "tool" = "user"): boolean {
  const types = (place === "user" ? support?.types : support?.inToolResults) ?? [];
  if (support === undefined || !support.from.includes(file.kind)) return false;
  if (file.kind === "stored" && file.bytes > (support.maxBytes ?? Infinity)) return false;
  return isOf(types, file) && support.refuses?.(file, place) === undefined;
}

function isOf(types: readonly string[], { mediaType }: FileRef): boolean {
  return types.some((type) => (type.endsWith("/*") ? mediaType.startsWith(type.slice(0, -1)) : type === mediaType));
}

const textTypes = /^text\/|^application\/(?:json|xml|csv|yaml|x-yaml)$|\+(?:json|xml|yaml)$/;

/** The text of a file that may go as text. */
function textIn(file: FileRef): string | undefined {
  if (file.kind !== "stored" || file.bytes > longestText || !textTypes.test(file.mediaType)) return undefined;
  const bytes = keptBytes(file);
  try {
    return bytes && new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** A fence that no line of the text can end. */
function fenced({ name }: FileRef, text: string): string {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map(({ length }) => length));
  const fence = "`".repeat(longest + 1);
  return `\n${fence}${name}\n${text}${text.endsWith("\n") ? "" : "\n"}${fence}\n`;
}

type Sent = PromptMessage | ToolMessage;

/** The message with other texts in place of some files; offsets move along. */
function replaced<M extends Sent>(message: M, textFor: (file: FileRef) => string | undefined): M {
  const { files = [], text } = message;
  let out = "";
  let from = 0;
  const left: PlacedFile[] = [];
  const inserted: { readonly at: number; readonly length: number }[] = [];
  for (const { at, file } of files) {
    out += text.slice(from, at);
    from = at;
    const instead = textFor(file);
    if (instead === undefined) left.push({ at: out.length, file });
    else {
      out += instead;
      inserted.push({ at, length: instead.length });
    }
  }
  out += text.slice(from);
  const { files: _, ...rest } = message;
  const marks = "cacheAt" in message ? message.cacheAt : undefined;
  const movedBy = (mark: number): number =>
    inserted.reduce((sum, { at, length }) => (at <= mark ? sum + length : sum), 0);
  return frozenInDepth({
    ...rest,
    text: out,
    ...(left.length === 0 ? {} : { files: left }),
    ...(marks === undefined ? {} : { cacheAt: marks.map((mark) => mark + movedBy(mark)) }),
  }) as unknown as M;
}

function userMessageFor(message: PromptMessage, support: FileSupport | undefined): Message {
  return replaced(message, (file) => {
    if (isTaken(file, support)) return undefined;
    const text = textIn(file);
    return text === undefined ? undefined : fenced(file, text);
  });
}

/** What the model made goes back by the provider's own items, and to another one as its label. */
function withLabels(message: Extract<Message, { role: "assistant" }>): Message {
  const { files = [], ...rest } = message;
  let text = "";
  let from = 0;
  for (const { at, file } of files) {
    text += message.text.slice(from, at) + labelOf(file);
    from = at;
  }
  return Object.freeze({ ...rest, text: text + message.text.slice(from) });
}

/** The files that stay in the answer; those behind it and those as text are taken out. */
function toolMessageFor(message: ToolMessage, { capabilities }: TakesFiles): Message {
  const support = capabilities?.files;
  const kinds = support?.types.join(", ");
  return replaced(message, (file) => {
    if (isTaken(file, support, "tool")) return undefined;
    if (isTaken(file, support)) return "";
    const text = textIn(file);
    if (text !== undefined) return fenced(file, text);
    const size = file.kind === "stored" ? `, ${file.bytes} bytes` : "";
    const takes = kinds === undefined || kinds === "" ? "no files" : kinds;
    return `\n${labelOf(file).slice(0, -1)}${size}: not shown, this model takes ${takes}]`;
  });
}

/** One user message with the files of a turn's answers that their own messages cannot hold. */
function insertedBehind(
  answers: readonly ToolMessage[],
  support: FileSupport | undefined,
  memory: Memory,
): PromptMessage | undefined {
  const first = answers.find(({ files }) => files !== undefined);
  if (first === undefined) return undefined;
  const before = memory.behind.get(first);
  if (before !== undefined) return before;
  let text = "";
  const files: PlacedFile[] = [];
  for (const { name, callId, files: own = [] } of answers) {
    const moved = own.filter(({ file }) => isTaken(file, support) && !isTaken(file, support, "tool"));
    if (moved.length === 0) continue;
    text += `${text === "" ? "" : "\n"}Result of ${name} (${callId}):`;
    for (const { file } of moved) {
      text += ` ${labelOf(file)}`;
      files.push({ at: text.length, file });
    }
  }
  if (files.length === 0) return undefined;
  const message: PromptMessage = frozenInDepth({ role: "user", text, files });
  memory.behind.set(first, message);
  return message;
}

function refusal({ name, capabilities }: TakesFiles, file: FileRef, index: number): Failure {
  const support = capabilities?.files;
  const types = support?.types.join(", ") ?? "";
  const takes =
    types === "" ? "It takes no files." : `It takes ${types}, as ${support?.from.join(", ")}${limitOf(support)}.`;
  const advice = file.kind === "link" ? " Give the bytes as a File." : "";
  const why = support?.refuses?.(file, "user");
  const size = file.kind === "stored" ? `, ${file.bytes} bytes` : "";
  const what = `the file ${file.name} (${file.mediaType}, ${file.kind}${size}) of messages[${index}]`;
  return badRequest(`${name} cannot take ${what}. ${why ?? takes}${advice}`);
}

function limitOf(support: FileSupport | undefined): string {
  return support?.maxBytes === undefined ? "" : `, of ${support.maxBytes} bytes at most`;
}

/** Why all files together are too many or too large. */
function tooMuch(messages: readonly Message[], { name, capabilities }: TakesFiles): Failure | undefined {
  const { maxFiles = usualCount, maxTotalBytes = usualTotal, inAnswers = [] } = capabilities?.files ?? {};
  // Files of the model's own answers that go back as labels are not sent.
  const files = messages.flatMap(({ role, files: own = [] }, index) =>
    own.filter(({ file }) => role !== "assistant" || isOf(inAnswers, file)).map(({ file }) => ({ file, index })),
  );
  let total = 0;
  for (const [count, { file, index }] of files.entries()) {
    total += file.kind === "stored" ? file.bytes : 0;
    const where = `with the file ${file.name} of messages[${index}]`;
    if (count >= maxFiles)
      return badRequest(`${name} takes ${maxFiles} files in one request, but ${where} it has ${files.length}.`);
    if (total > maxTotalBytes) {
      return badRequest(
        `${name} takes files of ${maxTotalBytes} bytes together in one request, but ${where} it has more.`,
      );
    }
  }
  return undefined;
}

export function badRequest(message: string): Failure {
  return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
}

/** The stored files that messages hold. */
export function storedFilesIn(message: Message): readonly StoredFile[] {
  return (message.files ?? []).flatMap(({ file }) => (file.kind === "stored" ? [file] : []));
}
