import { words } from "./check.ts";
import { knownFields, messageAt } from "./check-gemini.ts";
import { bytesIn } from "./read-files.ts";
import { badRequest } from "./refusal.ts";
import { isObject, type JsonObject, type SimulatedCall, type SimulatedFile, type SimulatedMessage } from "./types.ts";

const partKeys = words("text inlineData fileData functionCall functionResponse thought thoughtSignature videoMetadata");
const dataKeys = ["text", "inlineData", "fileData", "functionCall", "functionResponse"] as const;

interface Turn {
  readonly role: "user" | "model";
  readonly parts: readonly JsonObject[];
}

/** @throws {Refusal} for a history that the service would refuse. Source: Gemini API, "Function calling". */
export function readGeminiContents(contents: unknown): readonly SimulatedMessage[] {
  if (!Array.isArray(contents) || contents.length === 0) {
    throw badRequest("* GenerateContentRequest.contents: contents is not specified", "contents");
  }
  const turns = (contents as unknown[]).map(readTurn);
  const messages: SimulatedMessage[] = [];
  let calls: readonly SimulatedCall[] = [];
  for (const [index, turn] of turns.entries()) {
    const answers = turn.parts.filter((part) => part["functionResponse"] !== undefined);
    if (answers.length !== calls.length) throw wrongNumber(calls.length === 0);
    if (turn.role === "user") {
      messages.push(...answers.map((part, at) => answerOf(part["functionResponse"] as JsonObject, calls, at)));
      if (answers.length < turn.parts.length) messages.push(messageOf("user", turn.parts));
      calls = [];
      continue;
    }
    calls = turn.parts.flatMap((part, at) => callOf(part["functionCall"], `call_${index}_${at}`));
    if (calls.length > 0 && turns[index - 1]?.role !== "user") {
      throw badRequest(
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        "contents",
      );
    }
    messages.push({ ...messageOf("assistant", turn.parts), toolCalls: calls });
  }
  if (calls.length > 0) throw wrongNumber(false);
  return messages;
}

function wrongNumber(isWithoutCalls: boolean): Error {
  return badRequest(
    isWithoutCalls
      ? "Please ensure that function response turn comes immediately after a function call turn."
      : "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    "contents",
  );
}

function readTurn(content: unknown, index: number): Turn {
  const where = `contents[${index}]`;
  const given = messageAt(content, where);
  knownFields(given, words("role parts"), where);
  const { role = "user", parts } = given;
  if (role !== "user" && role !== "model") throw badRequest("Please use a valid role: user, model.", `${where}.role`);
  if (!Array.isArray(parts) || parts.length === 0) {
    throw badRequest(`* GenerateContentRequest.${where}.parts: contents.parts must not be empty.`, `${where}.parts`);
  }
  return { role, parts: parts.map((part: unknown, at) => readPart(part, `${where}.parts[${at}]`)) };
}

function readPart(part: unknown, where: string): JsonObject {
  const given = messageAt(part, where);
  knownFields(given, partKeys, where);
  const data = dataKeys.filter((key) => given[key] !== undefined);
  if (data.length !== 1) {
    throw badRequest(
      `* GenerateContentRequest.${where}.data: required oneof field 'data' must have one initialized field`,
      where,
    );
  }
  const signature = given["thoughtSignature"];
  if (signature !== undefined && (typeof signature !== "string" || !isBase64(signature))) {
    throw badRequest(`Invalid value at '${where}.thought_signature' (TYPE_BYTES), Base64 decoding failed.`, where);
  }
  const [key] = data;
  if (key !== "text" && key !== undefined) messageAt(given[key], `${where}.${key}`);
  return given;
}

function isBase64(text: string): boolean {
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text);
}

/** A turn has its text without its thoughts. */
function textOf(parts: readonly JsonObject[]): string {
  return parts.map(({ text, thought }) => (typeof text === "string" && thought !== true ? text : "")).join("");
}

function messageOf(role: "user" | "assistant", parts: readonly JsonObject[]): SimulatedMessage {
  return { role, text: textOf(parts), ...filesOf(parts), toolCalls: [] };
}

/** The files of parts; only what there is. */
function filesOf(parts: unknown): Pick<SimulatedMessage, "files"> {
  const files = (Array.isArray(parts) ? (parts as readonly unknown[]) : []).flatMap(
    (part): readonly SimulatedFile[] => {
      if (!isObject(part)) return [];
      const { inlineData, fileData } = part;
      if (isObject(inlineData)) {
        return [bytesIn(String(inlineData["data"]), String(inlineData["mimeType"]), "contents")];
      }
      return isObject(fileData) ? [{ mediaType: String(fileData["mimeType"]), url: String(fileData["fileUri"]) }] : [];
    },
  );
  return files.length === 0 ? {} : { files };
}

function callOf(call: unknown, made: string): readonly SimulatedCall[] {
  if (!isObject(call)) return [];
  const { id = made, name, args = {} } = call;
  return [{ id: String(id), name: String(name), arguments: JSON.stringify(args) }];
}

/** A response belongs to the call of its id; without one to the call in its place. */
function answerOf({ id, response, parts }: JsonObject, calls: readonly SimulatedCall[], at: number): SimulatedMessage {
  const call = calls.find((one) => one.id === id) ?? calls[at];
  const given = isObject(response) ? response : {};
  const text = given["content"] ?? given["output"] ?? given["result"] ?? given["error"] ?? given;
  return {
    role: "tool",
    callId: call?.id ?? "",
    text: typeof text === "string" ? text : JSON.stringify(text),
    ...filesOf(parts),
    toolCalls: [],
  };
}
