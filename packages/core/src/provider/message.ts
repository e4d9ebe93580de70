import { fileFault, type FileRef, type PlacedFile, type StoredFile } from "../content/file.ts";
import { DefinitionError } from "../errors.ts";
import { isRecord } from "../values.ts";
import { whyNoJson } from "../json.ts";

/** A call that the model asks for. */
export interface ToolCall {
  /** The id of the call; its answer carries it. */
  readonly id: string;
  /** The name of the tool, as the model wrote it. */
  readonly name: string;
  /** Exactly as the model sent it. */
  readonly arguments: string;
}

/** A message to the model: the rules of a prompt, or a user's words. */
export interface PromptMessage {
  readonly role: "system" | "user";
  /** The text of the message. */
  readonly text: string;
  /**
   * Offsets in `text`, in UTF-16 units and ascending, behind which a prompt cache may begin a new stretch. They count
   * only in a request whose settings have `cache`. Left out: none.
   */
  readonly cacheAt?: readonly number[];
  /** The files that stand in the text, in the order of `at`. Left out: none. */
  readonly files?: readonly PlacedFile[];
}

/** A turn of the model's: text, calls, or both. */
export interface AssistantMessage {
  readonly role: "assistant";
  /** What the model wrote; may be empty beside calls. */
  readonly text: string;
  /** The calls that the model made, in their order. */
  readonly toolCalls: readonly ToolCall[];
  /** The thoughts that the model showed. They are kept; what goes back to the provider is `providerItems`. */
  readonly reasoning?: string;
  /** Opaque, replayed to the same provider: reasoning items, signatures. */
  readonly providerItems?: unknown;
  /** What the model made: pictures, speech, files of a code interpreter. Left out: nothing. */
  readonly files?: readonly PlacedFile[];
}

/** The answer to one call. */
export interface ToolMessage {
  readonly role: "tool";
  /** The id of the call that it answers. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** What the model reads. */
  readonly text: string;
  /** Whether the call failed. */
  readonly isError: boolean;
  /** The whole text, where `text` is a part of it or a stub; `read_result` pages through it. */
  readonly full?: StoredFile;
  /** The files of the result, behind its text. Left out: none. */
  readonly files?: readonly PlacedFile[];
}
/** Plain JSON. */
export type Message = PromptMessage | AssistantMessage | ToolMessage;

/** Messages that were stored: refused whole, with the path of the fault; an orphan call or answer is a fault too. */
export function parseMessages(json: unknown): readonly Message[] {
  if (!Array.isArray(json)) throw fault("", "must be an array");
  const open = new Set<string>();
  const messages = json.map((message: unknown, index): Message => {
    const parsed = parseMessage(message, `[${index}]`);
    if (parsed.role !== "tool" && open.size > 0)
      throw fault(`[${index}]`, `comes before the answer to ${[...open].join(", ")}`);
    if (parsed.role === "assistant") {
      for (const { id } of parsed.toolCalls) {
        if (open.has(id)) throw fault(`[${index}].toolCalls`, `has the id "${id}" twice`);
        open.add(id);
      }
    }
    if (parsed.role === "tool" && !open.delete(parsed.callId)) {
      throw fault(`[${index}].callId`, `answers no call: "${parsed.callId}"`);
    }
    return parsed;
  });
  if (open.size > 0) throw fault(`[${messages.length - 1}]`, `leaves calls without an answer: ${[...open].join(", ")}`);
  return messages;
}

/** What a call is answered with where the evaluation ended before its answer came. */
const noAnswer = "Not run: the evaluation ended before this call was answered.";

/**
 * Messages that were stored, made whole: a call without an answer gets one that says so, an answer without its call is
 * left out. What is no message is refused, with the path of the fault.
 * @throws {DefinitionError} as `parseMessages` does, but for orphans.
 */
export function completedMessages(json: unknown): readonly Message[] {
  if (!Array.isArray(json)) throw fault("", "must be an array");
  const whole: Message[] = [];
  const open = new Map<string, ToolCall>();
  const answerOpen = (): void => {
    for (const { id, name } of open.values()) {
      whole.push({ role: "tool", callId: id, name, text: noAnswer, isError: true });
    }
    open.clear();
  };
  for (const [index, given] of json.entries()) {
    const message = parseMessage(given, `[${index}]`);
    if (message.role === "tool") {
      if (open.delete(message.callId)) whole.push(message);
      continue;
    }
    answerOpen();
    whole.push(message);
    for (const call of message.role === "assistant" ? message.toolCalls : []) {
      if (open.has(call.id)) throw fault(`[${index}].toolCalls`, `has the id "${call.id}" twice`);
      open.set(call.id, call);
    }
  }
  answerOpen();
  return whole;
}

function parseMessage(message: unknown, path: string): Message {
  const fields = record(message, path);
  if (fields["text"] === undefined && ("content" in fields || "parts" in fields)) {
    throw fault(path, foreign("content" in fields ? "content" : "parts"));
  }
  const text = string(fields, "text", path);
  switch (fields["role"]) {
    case "system":
    case "user":
      return { role: fields["role"], text, ...marksIn(fields, text, path), ...filesIn(fields, text, path) };
    case "assistant": {
      const calls = fields["toolCalls"];
      if (!Array.isArray(calls)) throw fault(`${path}.toolCalls`, "must be an array");
      const toolCalls = calls.map((call: unknown, index) => parseCall(call, `${path}.toolCalls[${index}]`));
      const { providerItems } = fields;
      const why = whyNoJson(providerItems);
      if (why !== undefined) throw fault(`${path}.providerItems`, `must be JSON: ${why}`);
      return {
        role: "assistant",
        text,
        toolCalls,
        ...(fields["reasoning"] === undefined ? {} : { reasoning: string(fields, "reasoning", path) }),
        ...(providerItems === undefined ? {} : { providerItems }),
        ...filesIn(fields, text, path),
      };
    }
    case "tool": {
      const isError = fields["isError"];
      if (typeof isError !== "boolean") throw fault(`${path}.isError`, "must be a boolean");
      const { full } = fields;
      return {
        role: "tool",
        callId: string(fields, "callId", path),
        name: string(fields, "name", path),
        text,
        isError,
        ...(full === undefined ? {} : { full: parseStored(full, `${path}.full`) }),
        ...filesIn(fields, text, path),
      };
    }
    default:
      throw fault(`${path}.role`, 'must be "system", "user", "assistant" or "tool"');
  }
}

function marksIn(
  { cacheAt }: Readonly<Record<string, unknown>>,
  { length }: string,
  path: string,
): Pick<PromptMessage, "cacheAt"> | undefined {
  if (cacheAt === undefined) return undefined;
  const isPlace = (at: unknown, index: number, all: readonly unknown[]): boolean =>
    Number.isInteger(at) && (at as number) <= length && (at as number) > ((all[index - 1] as number | undefined) ?? 0);
  if (Array.isArray(cacheAt) && cacheAt.every(isPlace)) return { cacheAt: cacheAt as readonly number[] };
  throw fault(`${path}.cacheAt`, "must be ascending places in the text");
}

function filesIn(
  { files, role }: Readonly<Record<string, unknown>>,
  { length }: string,
  path: string,
): { readonly files: readonly PlacedFile[] } | undefined {
  if (files === undefined) return undefined;
  const where = `${path}.files`;
  if (role === "system") throw fault(where, "must be left out: a system message holds no files");
  if (!Array.isArray(files)) throw fault(where, "must be an array");
  let least = 0;
  const placed = files.map((given: unknown, index): PlacedFile => {
    const { at, file } = record(given, `${where}[${index}]`);
    if (!Number.isInteger(at) || (at as number) < least || (at as number) > length)
      throw fault(`${where}[${index}].at`, "must be a place in the text, and not before the file in front of it");
    least = at as number;
    return { at: least, file: parseFile(file, `${where}[${index}].file`) };
  });
  return placed.length === 0 ? undefined : { files: placed };
}

/** Returns the same object, which may be what keeps the bytes. */
function parseFile(file: unknown, path: string): FileRef {
  const found = fileFault(file);
  if (found !== undefined) throw fault(path + found.path, found.problem);
  return file as FileRef;
}

function parseStored(file: unknown, path: string): StoredFile {
  const parsed = parseFile(file, path);
  if (parsed.kind !== "stored") throw fault(`${path}.kind`, 'must be "stored"');
  return parsed;
}

/** Describes a key of a message of the AI SDK, of OpenAI's or Anthropic's API, or of LangChain. */
function foreign(key: string): string {
  return (
    `has ${key} in place of text: it is a message of another library. Here it is { role: "user", text }, ` +
    '{ role: "assistant", text, toolCalls: [{ id, name, arguments }] }, with the arguments as JSON text, or ' +
    '{ role: "tool", callId, name, text, isError }'
  );
}

function parseCall(call: unknown, path: string): ToolCall {
  const fields = record(call, path);
  return {
    id: string(fields, "id", path),
    name: string(fields, "name", path),
    arguments: string(fields, "arguments", path),
  };
}

function record(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw fault(path, "must be an object");
  return value;
}

function string(fields: Readonly<Record<string, unknown>>, key: string, path: string): string {
  const value = fields[key];
  if (typeof value !== "string") throw fault(`${path}.${key}`, "must be a string");
  return value;
}

function fault(path: string, problem: string): DefinitionError {
  return new DefinitionError(`These are not messages of Proviso: messages${path} ${problem}.`);
}
