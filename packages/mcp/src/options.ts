import { checkAdapterOptions, commandSecrets, credentialsIn, headerSecrets } from "@proviso/adapter-kit";
import { DefinitionError, type Clock, type JsonSchema, type ProviderAdapter, type ToolContext } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import type { Environment } from "@proviso/runtime";
import type { McpChange, McpPins } from "./definitions.ts";

/** How a server is reached. `env` names variables that it may see, PATH always among them; nothing else is handed over. */
export type McpServerSpec =
  | {
      /** A program, by its path or looked up in PATH. Never a shell's line. */
      readonly command: string;
      /** Handed over as they are. Default: none. */
      readonly args?: readonly string[];
      /** Names of the variables that it may see; PATH it always sees. Default: none. */
      readonly env?: readonly string[];
      /** The folder that it runs in. Default: the working directory of this process. */
      readonly cwd?: string;
    }
  | {
      /** Where it listens, over streamable HTTP. */
      readonly url: string;
      /** Sent with every request. Their values are secrets. */
      readonly headers?: Readonly<Record<string, string>>;
      /** An OAuthClientProvider or AuthProvider of @modelcontextprotocol/client. */
      readonly auth?: object;
      /** The function that sends requests. Default: the platform's own. */
      readonly fetch?: typeof fetch;
    }
  | {
      /** Any Transport of @modelcontextprotocol/client. It is used once: such a connection is not opened anew. */
      readonly transport: object;
    };

/** What a server asks of a person in the middle of a call. */
export interface McpElicitation {
  /** The name of the server. */
  readonly server: string;
  /** The server's own name of the tool that is called. */
  readonly tool: string;
  /** What it says to the person. */
  readonly message: string;
  /** JSON Schema of a flat form; undefined: an address to visit. */
  readonly schema?: JsonSchema;
  /** The address to visit. */
  readonly url?: string;
}
/** What a person answered. */
export type McpElicited =
  | {
      readonly action: "accept";
      /** The values of the form, by the names of the schema's keys; left out: the server asked for none. */
      readonly content?: Readonly<Record<string, unknown>>;
    }
  | { readonly action: "decline" | "cancel" };

/** How a server gets texts of a model. */
export interface McpSampling {
  /** The adapter of the model. Default: that of the call. */
  readonly adapter?: ProviderAdapter;
  /** Tokens of one request's answer at most. Default 1,000. */
  readonly maxOutputTokens?: number;
  /** Asked before the model is; false: refused. Left out: every request is taken. */
  approve?(text: string, context: ToolContext): boolean | Promise<boolean>;
}

/** What `connectMcp` takes beside the server. */
export interface McpConnectOptions extends Omit<Environment, "observers"> {
  /** Milliseconds to connect and list. Default 30,000. */
  readonly connectMs?: number | undefined;
  /**
   * Milliseconds of one call without any progress. Default 60,000; the evaluation's deadline and `timeoutMs` of
   * `mcpTools` hold beside it.
   */
  readonly callMs?: number | undefined;
  /**
   * Asked when a server wants something of a person in the middle of a call. Left out: declined, and not offered to the
   * server.
   */
  readonly elicit?: ((asked: McpElicitation, context: ToolContext) => Promise<McpElicited>) | undefined;
  /** Lets a server have texts of a model: a nested evaluation of the call, in its limits and budget. Left out: not offered. */
  readonly sampling?: McpSampling | undefined;
  /** What tools must be. Left out: what the first listing says holds as long as the connection does. */
  readonly pins?: McpPins | undefined;
  /**
   * What becomes of a definition that differs from its pin. "refuse": a DefinitionError at connecting, a failed call
   * later. Default "refuse".
   */
  readonly onChange?: "refuse" | ((changes: readonly McpChange[]) => boolean | Promise<boolean>) | undefined;
}

/** Options with nothing left out that has a default. */
export interface CheckedConnectOptions extends McpConnectOptions {
  readonly connectMs: number;
  readonly callMs: number;
  readonly clock: Clock | undefined;
  readonly secrets: readonly string[];
}

const optionNames = {
  clock: true,
  random: true,
  newId: true,
  logger: true,
  secrets: true,
  connectMs: true,
  callMs: true,
  elicit: true,
  sampling: true,
  pins: true,
  onChange: true,
} as const satisfies OptionNames<McpConnectOptions>;

/** @throws {DefinitionError} naming the option and what it must be. */
export function checkConnectOptions(server: McpServerSpec, given: McpConnectOptions): CheckedConnectOptions {
  checkServer(server);
  checkOptionNames("An MCP connection", given, optionNames);
  const { connectMs = 30_000, callMs = 60_000, elicit, sampling, onChange = "refuse" } = given;
  for (const [name, ms] of Object.entries({ connectMs, callMs })) {
    if (!(Number.isFinite(ms) && ms > 0)) throw wrong(name, "a positive number of milliseconds", ms);
  }
  if (elicit !== undefined && typeof elicit !== "function") throw wrong("elicit", "a function", elicit);
  if (onChange !== "refuse" && typeof onChange !== "function")
    throw wrong("onChange", '"refuse" or a function', onChange);
  if (sampling !== undefined) checkSampling(sampling);
  const { clock, random, newId, logger, secrets } = given;
  checkAdapterOptions({ clock, random, newId, logger, secrets });
  return { ...given, connectMs, callMs, onChange, clock: given.clock, secrets: secretsOf(server, given.secrets ?? []) };
}

function checkSampling(sampling: McpSampling): void {
  checkOptionNames("The option sampling", sampling, { adapter: true, maxOutputTokens: true, approve: true });
  const { maxOutputTokens = 1, approve } = sampling;
  if (!(Number.isInteger(maxOutputTokens) && maxOutputTokens > 0))
    throw wrong("sampling.maxOutputTokens", "a whole number of at least 1", maxOutputTokens);
  if (approve !== undefined && typeof approve !== "function") throw wrong("sampling.approve", "a function", approve);
}

function wrong(name: string, expected: string, given: unknown): DefinitionError {
  return new DefinitionError(`The option ${name} must be ${expected}, not ${describeValue(given)}.`);
}

function checkServer(server: unknown): void {
  const kinds = isRecord(server) ? ["command", "url", "transport"].filter((kind) => server[kind] !== undefined) : [];
  if (!isRecord(server) || kinds.length !== 1) {
    throw new DefinitionError(
      'A server needs one of command, url and transport, for example { command: "npx", args: ["-y", "a-server"] }.',
    );
  }
  const { command, args = [], env = [], cwd, url, headers = {}, auth, fetch: given, transport } = server;
  switch (kinds[0] ?? "") {
    case "command":
      checkOptionNames("A server that is a command", server, { command: true, args: true, env: true, cwd: true });
      if (!isText(command) || command.trim() === "") throw wrong("command", "the name or path of a program", command);
      if (!Array.isArray(args)) throw wrong("args", "a list of texts without NUL characters", args);
      checkItems(args, isText, (index) => `args[${index}] must be ${text}`);
      if (!Array.isArray(env)) throw wrong("env", 'a list of variable names, for example ["HOME"]', env);
      checkItems(env, isVariable, (index) => `env[${index}] must be the name of a variable, "HOME" for example`);
      if (cwd !== undefined && (!isText(cwd) || cwd === "")) throw wrong("cwd", "the path of a folder", cwd);
      return;
    case "url":
      checkOptionNames("A server with an address", server, { url: true, headers: true, auth: true, fetch: true });
      if (!isText(url) || !/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
        throw wrong("url", "an address of http or https", url);
      if (!isRecord(headers)) throw wrong("headers", "an object of texts", headers);
      checkItems(Object.values(headers), isText, (index) => `headers.${Object.keys(headers)[index]} must be ${text}`);
      checkItems(Object.entries(headers), isHeader, (index) => {
        const name = JSON.stringify(Object.keys(headers)[index]);
        return `headers has ${name}, whose name or value cannot be that of a header`;
      });
      if (auth !== undefined && !hasOneOf(auth, ["token", "tokens"]))
        throw wrong("auth", "an OAuthClientProvider or AuthProvider", auth);
      if (given !== undefined && typeof given !== "function") throw wrong("fetch", "a function", given);
      return;
    default:
      checkOptionNames("A server with a transport", server, { transport: true });
      if (!["start", "send", "close"].every((name) => hasOneOf(transport, [name])))
        throw wrong("transport", "a Transport of @modelcontextprotocol/client", transport);
  }
}

/** A NUL would end an argument where the system reads it. */
function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

/** Whether it may be sent: an entry of the headers. */
function isHeader(entry: unknown): boolean {
  try {
    new Headers().append(...(entry as [string, string]));
    return true;
  } catch {
    return false;
  }
}

function hasOneOf(value: unknown, functions: readonly string[]): boolean {
  return isRecord(value) && functions.some((name) => typeof value[name] === "function");
}

function isVariable(value: unknown): boolean {
  return isText(value) && value !== "" && !value.includes("=");
}

const text = "a text without NUL characters";

/** The item itself is not shown: it may be a secret. @throws {DefinitionError} that names the first wrong one. */
function checkItems(
  items: readonly unknown[],
  fits: (item: unknown) => boolean,
  fault: (index: number) => string,
): void {
  const wrongOne = items.findIndex((item) => !fits(item));
  if (wrongOne !== -1) throw new DefinitionError(`The option ${fault(wrongOne)}.`);
}

/** What the server was given and might show: headers, named keys, passwords in its address. */
function secretsOf(server: McpServerSpec, given: readonly string[]): readonly string[] {
  if ("url" in server) return [...given, ...headerSecrets(server.headers ?? {}), ...credentialsIn(server.url)];
  if (!("command" in server)) return given;
  const variables = Object.fromEntries((server.env ?? []).map((name) => [name, process.env[name]]));
  return [...given, ...commandSecrets(variables, server.args ?? [])];
}

/** How a server is reached, in words, without what may be secret. */
export function shownServer(server: McpServerSpec): string {
  if ("command" in server) return server.command;
  if ("url" in server) return URL.parse(server.url)?.host ?? "a server";
  return "a server";
}
