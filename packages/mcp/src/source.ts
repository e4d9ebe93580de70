import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ToolContext } from "@proviso/core";
import { openSecrets } from "@proviso/runtime/internal";
import type { McpContent } from "./content.ts";
import type { McpToolInfo } from "./definitions.ts";

/** Where tools come from: a connection, or pins alone. */
export interface McpSource {
  /** The name that the server says. */
  readonly serverName: string;
  /** The tools that are offered. */
  readonly definitions: readonly McpToolInfo[];
}

/** What the tools of a source call. */
export interface Caller {
  call(tool: McpToolInfo, input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<CallToolResult>;
  /** What a tool that reads resources asks. */
  readResource(uri: string, context: ToolContext): Promise<McpContent>;
  listResources(context: ToolContext): Promise<readonly McpResourceInfo[]>;
  /** Takes the secrets out. */
  redact<T>(value: T): T;
}

/** A resource as the server lists it. */
export interface McpResourceInfo {
  /** The address that `readResource` takes. */
  readonly uri: string;
  /** The resource's name. */
  readonly name: string;
  /** What the resource is, in the server's words; left out: the server has none. */
  readonly description?: string;
  /** `type/subtype`; left out: the server does not state it. */
  readonly mediaType?: string;
}

const callers = new WeakMap<McpSource, Caller>();

/** Makes the source of which `caller` is behind. */
export function withCaller<S extends McpSource>(source: S, caller: Caller): S {
  callers.set(source, caller);
  return source;
}

/** undefined for what is no source of ours. */
export function callerOf(source: McpSource): Caller | undefined {
  return callers.get(source);
}

/** What takes secrets out of texts and values. */
export function redactionFor(secrets: readonly string[]): <T>(value: T) => T {
  const opened = openSecrets(secrets);
  return opened === undefined ? (value) => value : opened.redact;
}
