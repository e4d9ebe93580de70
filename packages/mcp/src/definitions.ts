import { DefinitionError, type JsonSchema } from "@proviso/core";
import { canonicalJson, contentHash, describeValue } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { visibleDescription, visibleSchema, visibleText } from "./visible-text.ts";

/** A definition as the server lists it. */
export interface McpToolInfo {
  /** The server's own name for the tool. */
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  /** What the tool does; the model reads it. */
  readonly description: string;
  /** The schema of the arguments. */
  readonly inputSchema: JsonSchema;
  /** The schema of the structured content, where the tool has one. */
  readonly outputSchema?: JsonSchema;
  /** What the server says of the tool. It is believed only where `trust` says so. */
  readonly annotations: {
    readonly readOnlyHint?: boolean;
    readonly idempotentHint?: boolean;
    readonly destructiveHint?: boolean;
    readonly openWorldHint?: boolean;
  };
}

/** Plain JSON, to be kept beside the code. */
export interface McpPins {
  readonly version: 1;
  /** The server, by the name that it says. */
  readonly server: { readonly name: string };
  /** Every tool; `hash` is SHA-256 over canonical JSON of the rest. */
  readonly tools: readonly (McpToolInfo & { readonly hash: string })[];
}

/** A tool that is not what its pin says. */
export interface McpChange {
  /** The server's own name for the tool. */
  readonly tool: string;
  /** What became of it. A renamed tool is one that is gone and one that is new. */
  readonly what: "new" | "gone" | "changed";
  /** The definition that was pinned; left out: none. */
  readonly pinned?: McpToolInfo;
  /** The definition as it is now; left out: none. */
  readonly now?: McpToolInfo;
}

const hints = ["readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint"] as const;

/** What of a listed tool is a definition: what it says more, icons say, is passed over. */
export function infoOf(listed: unknown): McpToolInfo {
  const tool = isRecord(listed) ? listed : {};
  const { name, title, description, inputSchema, outputSchema } = tool;
  const annotations = isRecord(tool["annotations"]) ? tool["annotations"] : {};
  const given = hints.flatMap((hint) => (typeof annotations[hint] === "boolean" ? [[hint, annotations[hint]]] : []));
  const named = typeof title === "string" ? title : annotations["title"];
  return {
    name: typeof name === "string" ? name : "",
    ...(typeof named === "string" ? { title: named } : {}),
    description: typeof description === "string" ? description : "",
    inputSchema: isRecord(inputSchema) ? inputSchema : { type: "object" },
    ...(isRecord(outputSchema) ? { outputSchema } : {}),
    annotations: Object.fromEntries(given) as McpToolInfo["annotations"],
  };
}

/** SHA-256 over canonical JSON. */
export function hashOf({ name, title, description, inputSchema, outputSchema, annotations }: McpToolInfo): string {
  return contentHash({ name, title, description, inputSchema, outputSchema, annotations });
}

/** Pins of what the server lists now. */
export function pinsOf(serverName: string, tools: readonly McpToolInfo[]): McpPins {
  return Object.freeze({
    version: 1,
    server: { name: serverName },
    tools: tools.map((tool) => ({ ...tool, hash: hashOf(tool) })),
  });
}

/** What differs from the pins, in the order of their tools, new ones last. */
export function changesOf(pinned: readonly McpToolInfo[], now: readonly McpToolInfo[]): readonly McpChange[] {
  const listed = new Map(now.map((tool) => [tool.name, tool]));
  const known = new Set(pinned.map(({ name }) => name));
  const changed = pinned.flatMap((pin): readonly McpChange[] => {
    const tool = listed.get(pin.name);
    if (tool === undefined) return [{ tool: pin.name, what: "gone", pinned: pin }];
    return hashOf(tool) === hashOf(pin) ? [] : [{ tool: pin.name, what: "changed", pinned: pin, now: tool }];
  });
  const added = now.filter(({ name }) => !known.has(name));
  return [...changed, ...added.map((tool): McpChange => ({ tool: tool.name, what: "new", now: tool }))];
}

/** The fields in which a changed definition differs, for messages. */
export function differenceOf({ what, pinned, now }: McpChange): string {
  if (what !== "changed" || pinned === undefined || now === undefined) return `is ${what}`;
  const fields = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;
  const different = fields.filter(
    (field) => canonicalJson(pinned[field] ?? null) !== canonicalJson(now[field] ?? null),
  );
  return `has changed its ${different.join(" and ")}`;
}

/**
 * Pins from JSON.
 * @throws {DefinitionError} for what is damaged, with its path.
 */
export function parsePins(json: unknown): McpPins {
  const refuse = (path: string, expected: string, given: unknown): never => {
    throw new DefinitionError(`The pins are damaged: ${path} must be ${expected}, not ${describeValue(given)}.`);
  };
  if (!isRecord(json)) return refuse("they", "an object", json);
  const { version, server, tools } = json;
  if (version !== 1) return refuse("version", "1", version);
  const name = isRecord(server) ? server["name"] : undefined;
  if (typeof name !== "string") return refuse("server.name", "a text", name);
  if (!Array.isArray(tools)) return refuse("tools", "a list", tools);
  const infos = tools.map((tool: unknown, index) => {
    if (!isRecord(tool)) return refuse(`tools.${index}`, "an object", tool);
    if (typeof tool["name"] !== "string") return refuse(`tools.${index}.name`, "a text", tool["name"]);
    const info = infoOf(tool);
    if (tool["hash"] !== hashOf(info)) {
      throw new DefinitionError(
        `The pins are damaged: the hash of tools.${index} (${JSON.stringify(info.name)}) is not that of its definition.`,
      );
    }
    return info;
  });
  const names = new Set<string>();
  const twice = infos.find((info) => names.size === names.add(info.name).size);
  if (twice !== undefined)
    throw new DefinitionError(`The pins are damaged: ${JSON.stringify(twice.name)} is there twice.`);
  return pinsOf(name, infos);
}

/**
 * The definition as a model may read it.
 * @throws {DefinitionError} naming the tool.
 */
export function visibleInfo(info: McpToolInfo, server: string): McpToolInfo {
  const what = `The tool ${JSON.stringify(visibleText(info.name))} of ${server}`;
  return {
    ...info,
    ...(info.title === undefined ? {} : { title: visibleDescription(info.title, what) }),
    description: visibleDescription(info.description, what),
    inputSchema: visibleSchema(info.inputSchema, what),
    ...(info.outputSchema === undefined ? {} : { outputSchema: visibleSchema(info.outputSchema, what) }),
  };
}
