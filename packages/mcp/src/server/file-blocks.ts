// The files of a tool's result, as the blocks of an answer over the protocol.
import { base64Of } from "@proviso/adapter-kit";
import type { CallToolResult } from "@modelcontextprotocol/server";
import type { FileRef, FileSupport, ToolMessage } from "@proviso/core";
import { labelOf } from "@proviso/core/internal";
import { openFile } from "@proviso/runtime";

const types = Object.freeze(["image/*", "audio/*", "video/*", "text/*", "application/*", "font/*", "model/*"]);

/** A client takes whatever a tool answers with; how large an answer is, it bounds itself. */
export const everyFile: FileSupport = Object.freeze({
  types,
  inToolResults: types,
  from: Object.freeze(["stored", "link", "uploaded"] as const),
  maxFiles: Infinity,
  maxTotalBytes: Infinity,
});

/** What the tool says, without the labels of the files that stand behind it. */
export function textWithoutFiles({ text, files = [] }: ToolMessage): string {
  const [first] = files;
  return first === undefined ? text : text.slice(0, first.at - labelOf(first.file).length).trimEnd();
}

/** Pictures and sound are blocks of their own, other files embedded resources; a link stays a link. Names are shown by `hide`. */
export async function blockOf(
  file: FileRef,
  hide: (text: string) => string,
): Promise<CallToolResult["content"][number]> {
  const { kind, mediaType: mimeType } = file;
  const name = hide(file.name);
  if (kind === "link") return { type: "resource_link", uri: hide(file.url), name, mimeType };
  if (kind === "uploaded") return { type: "text", text: hide(labelOf(file)) };
  const bytes = new Uint8Array(await (await openFile(file)).arrayBuffer());
  const data = base64Of(file, () => bytes);
  if (mimeType.startsWith("image/")) return { type: "image", data, mimeType };
  if (mimeType.startsWith("audio/")) return { type: "audio", data, mimeType };
  return { type: "resource", resource: { uri: `file:///${encodeURIComponent(name)}`, mimeType, blob: data } };
}
