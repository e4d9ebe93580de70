// What a server's answer to a call is to a model and to a program.
import { toolError, toolOk, type JsonSchema, type Schema, type ToolReturn, defineTool } from "@proviso/core";
import { canonicalJson, isThenable } from "@proviso/core/internal";
import { isRecord, parseJson } from "@proviso/core/provider";
import { contentOf, fileLine } from "./content.ts";
import { dataNames, type DataNames } from "./file-data.ts";

/** What a server sent, by the value in which names stand in the place of data: schemas are about what was sent. */
const sent = new WeakMap<object, object>();

/**
 * Structured content is the value, and what is not in it is the message. Without it the value is the text. Files are the
 * result's files, and their data is nowhere else; of an error, the model reads a line of each.
 */
export function resultOf(answer: unknown, isStructured: boolean): ToolReturn<unknown> {
  const { content, structuredContent, isError } = isRecord(answer) ? answer : {};
  const { text: whole, files, data } = contentOf(content);
  const names = dataNames(data);
  const text = names.inText(whole);
  if (isError === true) return toolError([text, ...files.map(fileLine)].filter((part) => part !== "").join("\n\n"));
  if (structuredContent === undefined) {
    if (isStructured) return toolOk(undefined, { message: text, files });
    // A server that sent no block has returned nothing; an empty text is one.
    return toolOk(text, { files, hideValue: !Array.isArray(content) || content.length === 0 });
  }
  const value = withoutData(structuredContent, names);
  // Servers repeat the structured content as text, for clients that do not know it: the model reads it once.
  if (isSameJson(whole, structuredContent)) return toolOk(value, { files });
  const isRead = (whole !== "" && isTextOf(whole, structuredContent)) || repeatsBlocks(structuredContent, content);
  return toolOk(value, { message: text, hideValue: isRead, files });
}

function withoutData(value: unknown, names: DataNames): unknown {
  const named = names.inValue(value);
  if (isRecord(named) && isRecord(value) && named !== value) sent.set(named, value);
  return named;
}

/** The schema of a server's values, which checks them as they were sent, and leaves the data of files out of them. */
export function outputOf(schema: JsonSchema, name: string): Schema {
  const of = { name, description: name, input: { type: "object" }, execute: () => null } as const;
  const { "~standard": standard } = defineTool({ ...of, output: schema }).output as Schema;
  return {
    "~standard": {
      ...standard,
      validate(value) {
        const whole = isRecord(value) ? (sent.get(value) ?? value) : value;
        const result = standard.validate(whole);
        if (whole === value) return result;
        if (isThenable(result)) return Promise.resolve(result).then((late) => (late.issues ? late : { value }));
        return result.issues ? result : { value };
      },
    },
  };
}

/** Whether the text is the only thing that a value says. */
function isTextOf(text: string, value: unknown): boolean {
  const texts = isRecord(value) ? Object.values(value) : [];
  return texts.length === 1 && texts[0] === text;
}

function isSameJson(text: string, value: unknown): boolean {
  const parsed = parseJson(text, { maxLength: 16 * 1024 * 1024 });
  return parsed.ok && canonicalJson(parsed.value) === canonicalJson(value);
}

/** Whether a value says what the blocks say and no more: it is all blocks under one name, or the only block. */
function repeatsBlocks(value: unknown, content: unknown): boolean {
  if (!Array.isArray(content) || content.length === 0 || !isRecord(value)) return false;
  const values = Object.values(value);
  return (values.length === 1 && isPartOf(values[0], content)) || (content.length === 1 && isPartOf(value, content[0]));
}

/** Whether all that a value has is in another one, at the same place. */
function isPartOf(value: unknown, whole: unknown): boolean {
  if (Array.isArray(value)) {
    const items: readonly unknown[] = Array.isArray(whole) ? whole : [];
    return items.length === value.length && value.every((item, index) => isPartOf(item, items[index]));
  }
  if (!isRecord(value)) return value === whole;
  if (!isRecord(whole)) return false;
  const entries = Object.entries(value);
  return entries.length > 0 && entries.every(([key, item]) => Object.hasOwn(whole, key) && isPartOf(item, whole[key]));
}
