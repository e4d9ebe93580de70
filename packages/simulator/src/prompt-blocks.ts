import { keptMs, type PromptBlock } from "./prompt-cache.ts";
import { isObject, type JsonObject } from "./types.ts";

/** A file counts as so many tokens, whatever its bytes. Source: Gemini API, "Understand and count tokens". */
const fileTokens = 258;

/** Four characters to a token; the bytes of a file are not counted. */
function blockOf(value: unknown, keepMs?: number): PromptBlock {
  const text = JSON.stringify(value) ?? "";
  const shown = JSON.stringify(value, (key, inner: unknown) => (fileKeys.has(key) ? "" : inner)) ?? "";
  const tokens = Math.ceil(shown.length / 4) + (shown.length < text.length ? fileTokens : 0);
  return { text, tokens, keepMs };
}

const fileKeys = new Set(["source", "inlineData"]);

/** The blocks of a request to Anthropic, in the order in which its cache reads them: tools, system, messages. */
export function anthropicBlocks(body: JsonObject): readonly PromptBlock[] {
  const blocks = [...listOf(body["tools"]), ...listOf(body["system"]), ...listOf(body["messages"]).flatMap(contentOf)];
  const all = blocks.map(markedBlock);
  const last = all.at(-1);
  const keepMs = lifetimeOf(body["cache_control"]);
  return last === undefined || keepMs === undefined ? all : [...all.slice(0, -1), { ...last, keepMs }];
}

function contentOf(message: unknown): readonly unknown[] {
  if (!isObject(message)) return [];
  const { role, content } = message;
  return listOf(content).map((block) => ({ role, ...(isObject(block) ? block : { type: "text", text: block }) }));
}

function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? (value as unknown[]) : [{ type: "text", text: value }];
}

function markedBlock(block: unknown): PromptBlock {
  if (!isObject(block)) return blockOf(block);
  const { cache_control: control, ...sent } = block;
  return blockOf(sent, lifetimeOf(control));
}

function lifetimeOf(control: unknown): number | undefined {
  if (!isObject(control)) return undefined;
  return control["ttl"] === "1h" ? keptMs["1h"] : keptMs["5m"];
}

/** The blocks of a request to Gemini. */
export function geminiBlocks(body: JsonObject): readonly PromptBlock[] {
  const contents = Array.isArray(body["contents"]) ? (body["contents"] as unknown[]) : [];
  const config = body["generationConfig"];
  const schema = isObject(config) ? (config["responseJsonSchema"] ?? config["responseSchema"]) : undefined;
  const first = [body["systemInstruction"], body["tools"], schema].filter((part) => part !== undefined);
  const parts = contents.flatMap((content) => {
    if (!isObject(content) || !Array.isArray(content["parts"])) return [];
    return (content["parts"] as unknown[]).map((part) => ({ role: content["role"], part }));
  });
  return [...first, ...parts].map((part) => blockOf(part));
}
