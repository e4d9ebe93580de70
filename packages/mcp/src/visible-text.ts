import { DefinitionError, type JsonSchema } from "@proviso/core";
import { replaceUnseen } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";

/** UTF-16 units of one description that a server may have a model read. */
const longestDescription = 8_192;

/** UTF-16 units of one schema, as JSON. */
const longestSchema = 262_144;

/** UTF-16 units of a name or a value in a schema that a message shows. */
const longestShown = 60;

/** The text without what people would not see. Line breaks and tabs stay, and half a character becomes U+FFFD. */
export function visibleText(text: string): string {
  return replaceUnseen(text.toWellFormed(), (found) => (found === "\r" ? found : ""));
}

/** Whether people see all of a text. */
export function isVisible(text: string): boolean {
  return visibleText(text) === text;
}

/** A value of plain JSON in which every text is visible, keys included. */
export function visibleValue(value: unknown): unknown {
  if (typeof value === "string") return visibleText(value);
  if (Array.isArray(value)) return value.map(visibleValue);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [visibleText(key), visibleValue(item)]));
}

/**
 * The description as a model may read it.
 * @throws {DefinitionError} for one that is too long, about `what`.
 */
export function visibleDescription(text: string, what: string): string {
  const visible = visibleText(text);
  if (visible.length <= longestDescription) return visible;
  throw new DefinitionError(
    `${what} has a description of ${visible.length} characters: a server may have a model read ${longestDescription}.`,
  );
}

/** Keywords whose texts a model reads and no value is compared with. */
const annotations: ReadonlySet<string> = new Set(["title", "description", "$comment", "default", "examples"]);
/** Keywords whose keys are names that the author chose. */
const named: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);

/**
 * A schema as a model may read it: its annotations are visible.
 * @throws {DefinitionError} for a description that is too long, and for what cannot be changed (a property's name, an
 * allowed value) and is not visible.
 */
export function visibleSchema(schema: JsonSchema, what: string): JsonSchema {
  const { length } = JSON.stringify(schema);
  if (length > longestSchema) {
    throw new DefinitionError(
      `${what} has a schema of ${length} characters: a server may have a model read ${longestSchema}.`,
    );
  }
  return visiblePart(schema, what, false) as JsonSchema;
}

function visiblePart(part: unknown, what: string, areNames: boolean): unknown {
  if (typeof part === "string") return asItIs(part, what);
  if (Array.isArray(part)) return part.map((item) => visiblePart(item, what, false));
  if (!isRecord(part)) return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => {
      asItIs(key, what);
      if (areNames) return [key, visiblePart(value, what, false)];
      if (key === "description" && typeof value === "string") return [key, visibleDescription(value, what)];
      return [key, annotations.has(key) ? visibleValue(value) : visiblePart(value, what, named.has(key))];
    }),
  );
}

function asItIs(text: string, what: string): string {
  if (isVisible(text)) return text;
  const visible = visibleText(text);
  // A long one is not cut: a part of a secret would be left.
  const shown = visible.length > longestShown ? `of ${text.length} characters` : `(${JSON.stringify(visible)})`;
  throw new DefinitionError(`${what} has a name or a value ${shown} with invisible characters in its schema.`);
}

/** UTF-16 units of the name that a server gives itself. */
const longestName = 100;

/** A model reads it: it is visible and short. undefined where nothing is left of it. */
export function visibleName(visible: string): string | undefined {
  const name = visible.replaceAll(/\s+/g, " ").trim();
  return name === "" ? undefined : name.slice(0, longestName).toWellFormed();
}
