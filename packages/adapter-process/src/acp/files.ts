import type { ContentBlock, InitializeResponse } from "@agentclientprotocol/sdk";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { FileRef, Message, StoredFile, ToolMessage } from "@proviso/core";
import { base64Of, kindOfFile, type BytesOf } from "@proviso/adapter-kit";
import { openFile } from "@proviso/runtime";
import { RefusedError } from "./acp-error.ts";

type PromptCapabilities = NonNullable<NonNullable<InitializeResponse["agentCapabilities"]>["promptCapabilities"]>;

/**
 * The prompt's text, then its files in the order of their labels. Source: https://agentclientprotocol.com, "Content".
 * @throws {RefusedError} for a file that the agent does not take, before anything was sent.
 */
export function promptBlocks(
  text: string,
  { messages, bytesOf }: { readonly messages: readonly Message[]; readonly bytesOf?: BytesOf },
  { agentCapabilities }: InitializeResponse,
): ContentBlock[] {
  const takes = agentCapabilities?.promptCapabilities ?? {};
  const files = messages.flatMap(({ files: placed = [] }) => placed.map(({ file }) => file));
  return [{ type: "text", text }, ...files.map((file) => blockOf(file, bytesOf, takes))];
}

function blockOf(file: FileRef, bytesOf: BytesOf, takes: PromptCapabilities): ContentBlock {
  const { name, mediaType: mimeType } = file;
  if (file.kind === "link") return { type: "resource_link", uri: file.url, name, mimeType };
  const kind = kindOfFile(file);
  const needs = kind === "image" || kind === "audio" ? kind : "embeddedContext";
  if (takes[needs] !== true || file.kind !== "stored") {
    throw new RefusedError("bad_request", `cannot take the file ${name} (${mimeType}): it does not offer "${needs}".`);
  }
  const data = base64Of(file, bytesOf);
  if (kind === "image" || kind === "audio") return { type: kind, data, mimeType };
  return { type: "resource", resource: { uri: uriOf(file), mimeType, blob: data } };
}

function uriOf({ name }: FileRef): string {
  return `attachment:///${encodeURIComponent(name)}`;
}

/** The files of a tool's answer as an agent reads them over the Model Context Protocol. */
export async function resultBlocks({ files = [] }: ToolMessage): Promise<CallToolResult["content"]> {
  return Promise.all(files.map(({ file }) => resultBlock(file)));
}

async function resultBlock(file: FileRef): Promise<CallToolResult["content"][number]> {
  const { name, mediaType: mimeType } = file;
  if (file.kind === "link") return { type: "resource_link", uri: file.url, name, mimeType };
  const bytes = await (await openFile(file)).bytes();
  const data = base64Of(file as StoredFile, () => bytes);
  const kind = kindOfFile(file);
  if (kind === "image" || kind === "audio") return { type: kind, data, mimeType };
  return { type: "resource", resource: { uri: uriOf(file), mimeType, blob: data } };
}
