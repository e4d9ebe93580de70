import { anObject, aText, refuse } from "./check-anthropic.ts";
import { bytesIn } from "./read-files.ts";
import { itemsOf, type JsonObject, type SimulatedFile, type SimulatedMessage } from "./types.ts";

const pictures = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/** Whether a block of that type holds a file. */
export function isFileBlock(type: unknown): boolean {
  return type === "image" || type === "document";
}

/** The files of blocks; only what there is. @throws {Refusal} for what the service would refuse. Source: Anthropic, "Vision". */
export function anthropicFiles(content: unknown, path: string): Pick<SimulatedMessage, "files"> {
  const blocks = itemsOf(content);
  const files = blocks.filter(({ type }) => isFileBlock(type)).map((block) => fileOf(block, path));
  return files.length === 0 ? {} : { files };
}

function fileOf(block: JsonObject, path: string): SimulatedFile {
  const { type, title } = block;
  const source = anObject(block["source"], `${path}.${String(type)}.source`);
  const name = typeof title === "string" ? { name: title } : {};
  switch (aText(source, "type", path)) {
    case "base64": {
      const mediaType = aText(source, "media_type", path);
      const taken = type === "image" ? pictures : ["application/pdf"];
      if (!taken.includes(mediaType)) {
        refuse(
          `${path}.${String(type)}.source.base64.media_type`,
          `Input should be ${taken.map((one) => `'${one}'`).join(", ")}`,
        );
      }
      return { ...name, ...bytesIn(aText(source, "data", path), mediaType, path) };
    }
    case "text": {
      const bytes = Buffer.from(aText(source, "data", path)).toString("base64");
      return { ...name, ...bytesIn(bytes, "text/plain", path) };
    }
    case "url":
      return { ...name, url: aText(source, "url", path) };
    case "file":
      return { ...name, id: aText(source, "file_id", path) };
    default:
      return refuse(
        `${path}.${String(type)}.source`,
        "Input tag found using 'type' does not match any of the expected tags",
      );
  }
}
