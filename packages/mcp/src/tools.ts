import { DefinitionError, defineTool, toolError, toolOk, type Tool, type ToolReturn } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";
import { fileLine } from "./content.ts";
import { visibleInfo, type McpToolInfo } from "./definitions.ts";
import { withoutSecrets } from "./mcp-error.ts";
import { checkNames, toolName } from "./names.ts";
import { outputOf, resultOf } from "./results.ts";
import { callerOf, type Caller, type McpSource } from "./source.ts";
import { isVisible, visibleValue } from "./visible-text.ts";

/** What `mcpTools` takes beside the source. */
export interface McpToolsOptions {
  /** The own names of those that are wanted. An unknown one is a DefinitionError. Default: all. */
  readonly only?: readonly string[] | undefined;
  /**
   * Goes before every name. Default: none. Names become `^[a-zA-Z0-9_-]{1,64}$`: other characters "_", a longer one ends
   * in 8 digits of its hash.
   */
  readonly prefix?: string | undefined;
  /**
   * The tools whose hints are believed: `readOnlyHint` makes a tool `readOnly` (its calls may overlap, and may change nothing here),
   * `idempotentHint` `idempotent`. Default: the hints of no tool.
   */
  readonly trust?: boolean | readonly string[] | undefined;
  /** Milliseconds of one call, progress or not. Left out: `callMs` of the connection holds, and the evaluation's deadline. */
  readonly timeoutMs?: number | undefined;
  /** Adds `<prefix>read_resource({ uri })` for the resources that the server lists. Default false. */
  readonly resources?: boolean | undefined;
}

/** What a tool of a server gets: the arguments that its own schema describes. */
type McpTool = Tool<Readonly<Record<string, unknown>>>;

const infos = new WeakMap<object, McpToolInfo & { readonly server: string }>();

/** What the server says of a tool, for policies; undefined for other tools. */
export function mcpInfoOf(tool: Tool): (McpToolInfo & { readonly server: string }) | undefined {
  return infos.get(tool);
}

/**
 * A server's tools, for a section's `tools`. Descriptions lose invisible and direction characters, and are refused beyond
 * 8,192 characters.
 * @throws {DefinitionError} for an unknown name in `only` or `trust`, or what is no list of names, for names that meet, and for a schema that cannot be used.
 */
export function mcpTools(source: McpSource, options: McpToolsOptions = {}): readonly McpTool[] {
  checkOptionNames("mcpTools", options, { only: true, prefix: true, trust: true, timeoutMs: true, resources: true });
  const caller = callerOf(source);
  if (caller === undefined) throw new DefinitionError("mcpTools takes what connectMcp or pinnedMcp has made.");
  const { serverName, definitions } = source;
  const { only, prefix = "", trust = false, timeoutMs, resources = false } = options;
  if (typeof prefix !== "string")
    throw new DefinitionError(`The option prefix must be a text, not ${describeValue(prefix)}.`);
  const known = new Set(definitions.map(({ name }) => name));
  for (const [option, names] of Object.entries({ only, trust })) {
    if (names === undefined || (option === "trust" && typeof names === "boolean")) continue;
    if (!Array.isArray(names))
      throw new DefinitionError(`The option ${option} must be a list of tools' names, not ${describeValue(names)}.`);
    const unknown = names.find((name) => !known.has(name));
    if (unknown === undefined) continue;
    throw new DefinitionError(
      `The option ${option} names ${describeValue(unknown)}, and the tools of ${serverName} are: ${[...known].join(", ")}.`,
    );
  }
  const offered = definitions.filter(({ name }) => only === undefined || only.includes(name));
  const names = offered.map(({ name }) => [name, toolName(prefix, name)] as const);
  const reader = resources ? ([["read_resource", toolName(prefix, "read_resource")]] as const) : [];
  checkNames([...names, ...reader], serverName);
  const tools = offered.map((info, index) => {
    const name = names[index]?.[1] ?? "";
    const isTrusted = trust === true || (Array.isArray(trust) && trust.includes(info.name));
    return toolOf(caller, serverName, info, { name, isTrusted, timeoutMs });
  });
  return resources ? [...tools, resourceTool(caller, serverName, { prefix, timeoutMs })] : tools;
}

function toolOf(
  caller: Caller,
  server: string,
  info: McpToolInfo,
  of: { readonly name: string; readonly isTrusted: boolean; readonly timeoutMs: number | undefined },
): McpTool {
  const { description, inputSchema, outputSchema, title, annotations } = shownInfo(caller, info, server);
  const { name, isTrusted, timeoutMs } = of;
  const made = defineTool({
    name,
    description: description === "" ? (title ?? info.name) : description,
    input: { ...inputSchema, type: "object" },
    ...(outputSchema === undefined ? {} : { output: outputOf(outputSchema, name) }),
    ...(isTrusted && annotations.readOnlyHint === true ? { readOnly: true } : {}),
    ...(isTrusted && annotations.idempotentHint === true ? { idempotent: true } : {}),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async execute(input, context): Promise<ToolReturn<unknown>> {
      try {
        const answer = await caller.call(info, input, context);
        // Made visible first: a secret with an invisible character in it would be whole behind that.
        return resultOf(caller.redact(visibleValue(answer)), outputSchema !== undefined);
      } catch (error) {
        throw withoutSecrets(error, (value) => caller.redact(value));
      }
    },
  });
  infos.set(made, Object.freeze({ ...info, server }));
  return made as McpTool;
}

/** What a model reads of a tool: made visible first, as a secret with an invisible character in it would be whole behind that. */
function shownInfo({ redact }: Caller, info: McpToolInfo, server: string): McpToolInfo {
  try {
    return redact(visibleInfo(info, server));
  } catch (error) {
    throw redact(error);
  }
}

function resourceTool(
  caller: Caller,
  server: string,
  { prefix, timeoutMs }: { readonly prefix: string; readonly timeoutMs: number | undefined },
): McpTool {
  return defineTool({
    name: toolName(prefix, "read_resource"),
    description: `Reads a resource of ${server} by its uri.`,
    input: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
    readOnly: true,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    async execute({ uri }, context): Promise<ToolReturn<unknown>> {
      try {
        // An address that cannot be shown as it is cannot be asked for.
        const listed = (await caller.listResources(context)).filter((resource) => isVisible(resource.uri));
        if (!listed.some((resource) => resource.uri === uri)) {
          const there = listed.slice(0, 100).map((resource) => `${resource.uri} (${resource.name})`);
          return toolError(`There is no resource ${JSON.stringify(uri)}. There are: ${there.join(", ") || "none"}.`);
        }
        const { text, files } = await caller.readResource(String(uri), context);
        // An empty file is none: a store would refuse it, and the whole call with it.
        const lines = files.filter(({ size }) => size === 0).map(fileLine);
        const read = [text, ...lines].filter((part) => part !== "").join("\n\n");
        return toolOk(read, { files: files.filter(({ size }) => size > 0) });
      } catch (error) {
        throw withoutSecrets(error, (value) => caller.redact(value));
      }
    },
  }) as McpTool;
}
