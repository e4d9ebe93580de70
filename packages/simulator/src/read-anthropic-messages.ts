import { aList, anObject, at, aText, known, refuse } from "./check-anthropic.ts";
import { anthropicFiles, isFileBlock } from "./anthropic-files.ts";
import { words } from "./check.ts";
import { checkSearches } from "./search.ts";
import { isSealOf } from "./signature.ts";
import { isObject, type JsonObject, type SimulatedCall, type SimulatedMessage } from "./types.ts";

const blockKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["text", words("type text cache_control citations")],
  ["image", words("type source cache_control")],
  ["document", words("type source title context citations cache_control")],
  ["thinking", words("type thinking signature")],
  ["redacted_thinking", words("type data")],
  ["tool_use", words("type id name input cache_control caller")],
  ["tool_result", words("type tool_use_id content is_error cache_control")],
]);
const searchBlocks: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["server_tool_use", words("type id name input cache_control caller")],
  ["web_search_tool_result", words("type tool_use_id content cache_control caller")],
]);
const userBlocks = words("text image document tool_result");
const assistantBlocks = words("text thinking redacted_thinking tool_use server_tool_use web_search_tool_result");

interface Turn {
  readonly role: "user" | "assistant";
  readonly blocks: readonly JsonObject[];
  readonly path: string;
}

/** @throws {Refusal} for a history that the service would refuse. Source: Anthropic, "Tool use" and "Extended thinking". */
export function readAnthropicMessages(body: JsonObject): readonly SimulatedMessage[] {
  const given = aList(body["messages"], "messages");
  if (given.length === 0) refuse("messages", "at least one message is required");
  const turns = joined(given.map(readTurn));
  checkCalls(turns);
  for (const { blocks, path } of turns) checkSearches(blocks, path);
  checkThoughts(turns, body["thinking"]);
  return turns.flatMap(messagesOf);
}

function readTurn(message: unknown, index: number): Turn {
  const path = `messages.${index}`;
  const given = anObject(message, path);
  known(given, words("role content"), path);
  const role = aText(given, "role", path);
  if (role !== "user" && role !== "assistant") return refuse(`${path}.role`, "Input should be 'user' or 'assistant'");
  const { content } = given;
  if (typeof content === "string") {
    if (content === "")
      refuse(path, "all messages must have non-empty content except for the optional final assistant message");
    return { role, path, blocks: [{ type: "text", text: content }] };
  }
  const allowed = role === "user" ? userBlocks : assistantBlocks;
  const blocks = aList(content, at(path, "content")).map((block, at) =>
    readBlock(block, `${path}.content.${at}`, allowed),
  );
  if (blocks.length === 0) {
    refuse(path, "all messages must have non-empty content except for the optional final assistant message");
  }
  return { role, path, blocks };
}

function readBlock(block: unknown, path: string, allowed: ReadonlySet<string>): JsonObject {
  const given = anObject(block, path);
  const type = aText(given, "type", path);
  const keys = blockKeys.get(type) ?? searchBlocks.get(type);
  if (keys === undefined || !allowed.has(type)) {
    return refuse(path, `Input tag '${type}' found using 'type' does not match any of the expected tags`);
  }
  known(given, keys, `${path}.${type}`);
  if (type === "text") checkText(given, path, "messages");
  if (type === "tool_use") {
    const id = aText(given, "id", path);
    if (!/^[a-zA-Z0-9_-]+$/.test(id)) refuse(`${path}.tool_use.id`, "String should match pattern '^[a-zA-Z0-9_-]+$'");
    aText(given, "name", path);
    if (!isObject(given["input"])) refuse(`${path}.tool_use.input`, "Input should be an object");
  }
  if (type === "tool_result") aText(given, "tool_use_id", path);
  if (type === "image" || type === "document") anObject(given["source"], at(path, "source"));
  return given;
}

/** @throws {Refusal} for a block of text that says nothing. `where` is the field of the request that it stands in. */
export function checkText(block: JsonObject, path: string, where: "messages" | "system"): void {
  const text = aText(block, "text", path);
  if (text === "") refuse(where, "text content blocks must be non-empty");
  if (text.trim() === "") refuse(where, "text content blocks must contain non-whitespace text");
}

/** The service takes turns of one role in a row for one turn. */
function joined(turns: readonly Turn[]): readonly Turn[] {
  const all: Turn[] = [];
  for (const turn of turns) {
    const last = all.at(-1);
    if (last?.role === turn.role) all[all.length - 1] = { ...last, blocks: [...last.blocks, ...turn.blocks] };
    else all.push(turn);
  }
  return all;
}

function idsOf({ blocks }: Turn, type: "tool_use" | "tool_result"): readonly string[] {
  const key = type === "tool_use" ? "id" : "tool_use_id";
  return blocks.flatMap((block) => (block["type"] === type ? [String(block[key])] : []));
}

function checkCalls(turns: readonly Turn[]): void {
  const seen = new Set<string>();
  let open: readonly string[] = [];
  for (const turn of turns) {
    const answers = idsOf(turn, "tool_result");
    const missing = open.filter((id) => !answers.includes(id));
    if (missing.length > 0) unanswered(turn.path, missing);
    const unknown = answers.find((id, index) => !open.includes(id) || answers.indexOf(id) !== index);
    if (unknown !== undefined) {
      const why = `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unknown}.`;
      refuse(
        turn.path,
        `${why} Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
      );
    }
    open = idsOf(turn, "tool_use");
    for (const id of open) {
      if (seen.has(id)) refuse(turn.path, "`tool_use` ids must be unique");
      seen.add(id);
    }
  }
  if (open.length > 0) unanswered(turns.at(-1)?.path ?? "messages", open);
}

function unanswered(path: string, ids: readonly string[]): never {
  const why = `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids.join(", ")}.`;
  return refuse(
    path,
    `${why} Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

/**
 * A thought is sent back as it came. With thinking, calls that are not over yet begin with one: the first of them since
 * the user's last message that is no results. Source: Claude API reference, "Extended thinking".
 */
function checkThoughts(turns: readonly Turn[], thinking: unknown): void {
  for (const { blocks, path } of turns) {
    for (const [index, { type, thinking: text, signature }] of blocks.entries()) {
      if (type !== "thinking" || isSealOf(signature, String(text))) continue;
      refuse(`${path}.content.${index}`, "Invalid `signature` in `thinking` block");
    }
  }
  if (!isObject(thinking) || thinking["type"] !== "enabled") return;
  if (!(turns.at(-1)?.blocks.some(isResult) ?? false)) return;
  const asked = turns.findLastIndex(({ role, blocks }) => role === "user" && !blocks.some(isResult));
  const begun = turns.find(({ role }, at) => at > asked && role === "assistant");
  const first = begun?.blocks[0]?.["type"];
  if (begun === undefined || first === "thinking" || first === "redacted_thinking") return;
  const found = `Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first)}\`.`;
  refuse(
    `${begun.path}.content.0.type`,
    `${found} When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`,
  );
}

function isResult({ type }: JsonObject): boolean {
  return type === "tool_result";
}

/** The texts of blocks as one text: on lines of their own, but pieces that a mark for the cache cuts are one text. */
export function textOfBlocks(content: unknown, path: string): string {
  if (content === undefined || typeof content === "string") return content ?? "";
  const blocks = aList(content, path).filter(isObject);
  const isCut = blocks.some((block) => block["cache_control"] !== undefined);
  const texts = blocks.flatMap(({ text }) => (typeof text === "string" ? [text] : []));
  // A text around a file is one text, too.
  return texts.join(isCut || blocks.some(({ type }) => isFileBlock(type)) ? "" : "\n");
}

function messagesOf({ role, blocks, path }: Turn): readonly SimulatedMessage[] {
  const files = anthropicFiles(blocks, path);
  const text = textOfBlocks(
    blocks.filter(({ type }) => type === "text" || isFileBlock(type)),
    "content",
  );
  if (role === "assistant")
    return [{ role, text, toolCalls: blocks.filter(({ type }) => type === "tool_use").map(callOf) }];
  const answers = blocks
    .filter(({ type }) => type === "tool_result")
    .map((block): SimulatedMessage => ({
      role: "tool",
      callId: String(block["tool_use_id"]),
      text: textOfBlocks(block["content"], "content"),
      ...anthropicFiles(block["content"], path),
      toolCalls: [],
    }));
  const says = answers.length === 0 || blocks.some(({ type }) => type !== "tool_result");
  return says ? [...answers, { role, text, ...files, toolCalls: [] }] : answers;
}

function callOf({ id, name, input }: JsonObject): SimulatedCall {
  return { id: String(id), name: String(name), arguments: JSON.stringify(input) };
}
