import type { Message } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { contentOf, resourcePart, type McpContent } from "./content.ts";
import { parsePins, type McpPins } from "./definitions.ts";
import { offers } from "./link-state.ts";
import type { Link } from "./link.ts";
import { withoutSecrets } from "./mcp-error.ts";
import { checkConnectOptions, type McpConnectOptions, type McpServerSpec } from "./options.ts";
import { serverLink } from "./server-link.ts";
import { redactionFor, withCaller, type McpResourceInfo, type McpSource } from "./source.ts";
import { visibleText } from "./visible-text.ts";

/** Shared by all evaluations that use its tools; closed by the program that opened it. */
export interface McpConnection extends McpSource, AsyncDisposable {
  /** What the tools are, to be kept beside the code and given as `pins` the next time. */
  readonly pins: McpPins;
  /** The texts and files of a resource. @throws {McpError} */
  readResource(uri: string): Promise<McpContent>;
  /** The resources that the server lists. @throws {McpError} */
  listResources(): Promise<readonly McpResourceInfo[]>;
  /**
   * A prompt of the server, to go before one's own: `evaluate(…, { messages })`. Assistant turns stay, system turns do not.
   * @throws {McpError}
   */
  prompt(name: string, args?: Readonly<Record<string, string>>): Promise<readonly Message[]>;
  /** The prompts that the server lists. @throws {McpError} */
  listPrompts(): Promise<readonly McpPromptInfo[]>;
  /** Ends a process with all that it started, within two seconds. */
  close(): Promise<void>;
}

/** A prompt as the server lists it. */
export interface McpPromptInfo {
  /** The name that `prompt` takes. */
  readonly name: string;
  /** What the prompt is for, in the server's words; left out: the server has none. */
  readonly description?: string;
  /** The arguments that `prompt` takes, each a text. */
  readonly arguments: readonly { readonly name: string; readonly required: boolean }[];
}

/**
 * Connects to a server of the Model Context Protocol, lists its tools and checks the pins.
 * @example
 * ```ts
 * import { definePrompt } from "@proviso/core";
 * import { connectMcp, mcpTools } from "@proviso/mcp";
 *
 * async function main(): Promise<void> {
 *   await using docs = await connectMcp({ command: "npx", args: ["-y", "@modelcontextprotocol/server-filesystem", "."] });
 *   const ask = definePrompt({ key: "ask", sections: [{ key: "task", text: "What is here?", tools: mcpTools(docs) }] });
 *   console.log(ask.descriptor.tools.length);
 * }
 * console.log(typeof main); // function
 * ```
 * @throws {DefinitionError} for a server or an option that cannot be, and for tools that are not what was pinned.
 * @throws {McpError} when it cannot connect.
 */
export async function connectMcp(server: McpServerSpec, options: McpConnectOptions = {}): Promise<McpConnection> {
  const checked = checkConnectOptions(server, options);
  const pins = checked.pins === undefined ? undefined : parsePins(checked.pins);
  const redact = redactionFor(checked.secrets);
  const shared = serverLink(server, { ...checked, pins });
  /** What came of it is without the secrets. */
  const asked = async <T>(request: (link: Link) => Promise<T>): Promise<T> => {
    const answer = await shared.ask(request).catch((error: unknown) => {
      throw withoutSecrets(error, redact);
    });
    return redact(answer);
  };
  const opened = await shared.open().catch((error: unknown) => {
    throw withoutSecrets(error, redact);
  });
  const read = (uri: string, signal?: AbortSignal): Promise<McpContent> => asked((link) => readFrom(link, uri, signal));
  const listed = (signal?: AbortSignal): Promise<readonly McpResourceInfo[]> =>
    asked((link) => resourcesOf(link, signal));
  const connection: McpConnection = {
    serverName: opened.link.server,
    definitions: opened.definitions,
    pins: opened.pins,
    readResource: (uri) => read(uri),
    listResources: () => listed(),
    prompt: (name, args = {}) => asked((link) => promptFrom(link, name, args)),
    listPrompts: () => asked(promptsOf),
    close: () => shared.close(),
    [Symbol.asyncDispose]: () => shared.close(),
  };
  return withCaller(connection, {
    call: shared.call,
    readResource: (uri, { signal }) => read(uri, signal),
    listResources: ({ signal }) => listed(signal),
    redact,
  });
}

/** The texts and files of a resource. */
export async function readFrom({ client, ask }: Link, uri: string, signal?: AbortSignal): Promise<McpContent> {
  const { contents } = await ask(
    (options) => client.readResource({ uri }, { ...options, cacheMode: "bypass" }),
    signal,
  );
  const parts = contents.map(resourcePart);
  const text = parts
    .filter((part) => typeof part === "string")
    .map(visibleText)
    .join("\n\n");
  return { text, files: parts.filter((part) => part instanceof File) };
}

/** What the server lists; nothing where it has no resources. */
export async function resourcesOf({ client, ask }: Link, signal?: AbortSignal): Promise<readonly McpResourceInfo[]> {
  if (!offers(client, "resources")) return [];
  const { resources } = await ask(
    (options) => client.listResources(undefined, { ...options, cacheMode: "refresh" }),
    signal,
  );
  return resources.map(({ uri, name, description, mimeType }) => ({
    uri,
    name: visibleText(name),
    ...(description === undefined ? {} : { description: visibleText(description) }),
    ...(mimeType === undefined ? {} : { mediaType: mimeType }),
  }));
}

async function promptsOf({ client, ask }: Link): Promise<readonly McpPromptInfo[]> {
  if (!offers(client, "prompts")) return [];
  const { prompts } = await ask((options) => client.listPrompts(undefined, { ...options, cacheMode: "refresh" }));
  return prompts.map(({ name, description, arguments: args = [] }) => ({
    name,
    ...(description === undefined ? {} : { description: visibleText(description) }),
    arguments: args.map((arg) => ({ name: arg.name, required: arg.required === true })),
  }));
}

async function promptFrom(
  { client, ask }: Link,
  name: string,
  args: Readonly<Record<string, string>>,
): Promise<readonly Message[]> {
  const { messages } = await ask((options) => client.getPrompt({ name, arguments: { ...args } }, options));
  return messages.flatMap(({ role, content }): readonly Message[] => {
    const { text } = contentOf(isRecord(content) ? [content] : content);
    if (text === "") return [];
    if (role === "assistant") return [{ role, text, toolCalls: [] }];
    return role === "user" ? [{ role, text }] : [];
  });
}
