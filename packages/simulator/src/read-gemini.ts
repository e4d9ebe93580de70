import { words } from "./check.ts";
import { knownFields, messageAt } from "./check-gemini.ts";
import { badRequest, notSupported, Refusal } from "./refusal.ts";
import { readGeminiContents } from "./read-gemini-contents.ts";
import { isSearch } from "./search.ts";
import type { ReadRequest } from "./read.ts";
import { isObject, type JsonObject, type SimulatedTool } from "./types.ts";

// Source: Gemini API reference, "models.generateContent".
const bodyKeys = words(
  "contents systemInstruction tools toolConfig safetySettings generationConfig cachedContent serviceTier store",
);
const configKeys = words(
  "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount maxOutputTokens " +
    "temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs thinkingConfig mediaResolution " +
    "speechConfig imageConfig enableEnhancedCivicAnswers",
);

/** @throws {Refusal} for what the real service would refuse. */
export function readGemini(body: JsonObject): ReadRequest {
  knownFields(body, bodyKeys);
  if (body["cachedContent"] !== undefined) {
    throw new Refusal(403, "CachedContent not found (or permission denied)");
  }
  const config = body["generationConfig"] === undefined ? {} : messageAt(body["generationConfig"], "generation_config");
  checkConfig(config);
  const tools = readTools(body["tools"]);
  const choice = readChoice(body["toolConfig"], tools);
  const system = body["systemInstruction"];
  return {
    messages: readGeminiContents(body["contents"]),
    tools,
    system: system === undefined ? "" : partsText(messageAt(system, "system_instruction")["parts"]),
    toolChoice: choice,
    output: outputOf(config),
  };
}

function partsText(parts: unknown): string {
  return Array.isArray(parts)
    ? parts.map((part: unknown) => (isObject(part) && typeof part["text"] === "string" ? part["text"] : "")).join("")
    : "";
}

function checkConfig(config: JsonObject): void {
  knownFields(config, configKeys, "generation_config");
  if ((config["candidateCount"] ?? 1) !== 1) throw notSupported("generationConfig.candidateCount");
  if (config["speechConfig"] !== undefined) throw notSupported("generationConfig.speechConfig");
  if (config["imageConfig"] !== undefined) throw notSupported("generationConfig.imageConfig");
  const modalities = config["responseModalities"] ?? ["TEXT"];
  if (!Array.isArray(modalities) || modalities.some((one) => one !== "TEXT")) {
    throw notSupported("generationConfig.responseModalities");
  }
  outOfRange(config, "temperature", 0, 2);
  outOfRange(config, "topP", 0, 1);
  outOfRange(config, "maxOutputTokens", 1, Infinity);
  const stops = config["stopSequences"];
  if (Array.isArray(stops) && stops.length > 5) {
    throw badRequest("Unable to submit request because it has more than 5 stop sequences.", "stopSequences");
  }
  const asksForSchema = config["responseSchema"] !== undefined || config["responseJsonSchema"] !== undefined;
  if (asksForSchema && config["responseMimeType"] !== "application/json") {
    throw badRequest("response_schema requires response_mime_type to be application/json.", "responseMimeType");
  }
}

function outOfRange(config: JsonObject, key: string, low: number, high: number): void {
  const value = config[key];
  if (value === undefined || value === null) return;
  if (typeof value !== "number") throw badRequest(`Invalid value at 'generation_config.${key}' (TYPE_NUMBER).`, key);
  if (value < low || value > high) {
    throw badRequest(
      `Unable to submit request because it has a ${key} value of ${value} but the supported range is from ${low} to ${high}.`,
      key,
    );
  }
}

const declarationKeys = words("name description parameters parametersJsonSchema behavior response responseJsonSchema");

function readTools(given: unknown): readonly SimulatedTool[] {
  const seen = new Set<string>();
  return (Array.isArray(given) ? given : []).flatMap((item: unknown, index) => {
    const tool = messageAt(item, `tools[${index}]`);
    const other = Object.keys(tool).find((key) => key !== "functionDeclarations" && !isSearch("gemini", key));
    if (other !== undefined) throw notSupported(`tools[${index}].${other}`);
    const declarations = Array.isArray(tool["functionDeclarations"]) ? (tool["functionDeclarations"] as unknown[]) : [];
    return declarations.map((one, at): SimulatedTool => {
      const where = `tools[${index}].function_declarations[${at}]`;
      const given = messageAt(one, where);
      knownFields(given, declarationKeys, where);
      const { name, description } = given;
      if (typeof name !== "string" || !/^[a-zA-Z_][\w.:-]{0,127}$/.test(name)) {
        throw badRequest(
          `${where}.name: Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 128.`,
          `${where}.name`,
        );
      }
      if (seen.has(name)) throw badRequest(`Duplicate function declaration found: ${name}`, where);
      seen.add(name);
      const schema = given["parametersJsonSchema"] ?? given["parameters"];
      return {
        name,
        description: typeof description === "string" ? description : "",
        parameters: isObject(schema) ? schema : {},
        strict: false,
      };
    });
  });
}

function readChoice(config: unknown, tools: readonly SimulatedTool[]): unknown {
  if (config === undefined) return undefined;
  const calling = messageAt(config, "tool_config")["functionCallingConfig"];
  if (calling === undefined) return undefined;
  const { mode, allowedFunctionNames: names } = messageAt(calling, "tool_config.function_calling_config");
  if (tools.length === 0 && mode !== "NONE") {
    throw badRequest("Function calling config is set without function_declarations.", "toolConfig");
  }
  if (!Array.isArray(names)) return calling;
  if (mode !== "ANY" && mode !== "VALIDATED") {
    throw badRequest(
      "Allowed function names can only be specified when function calling mode is ANY or VALIDATED.",
      "toolConfig",
    );
  }
  const unknown: unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    const name = JSON.stringify(unknown);
    throw badRequest(`allowed_function_names has a function that is not declared: ${name}`, "toolConfig");
  }
  return calling;
}

function outputOf(config: JsonObject): ReadRequest["output"] {
  const schema = config["responseJsonSchema"] ?? config["responseSchema"];
  return isObject(schema) ? { name: "output", schema, strict: true } : undefined;
}
