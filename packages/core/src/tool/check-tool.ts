// What a tool has to be, made by defineTool or written in a section.
import { DefinitionError } from "../errors.ts";
import { frozenCopy } from "../frozen-copy.ts";
import { withPossibleKeys } from "../keys-in-schema.ts";
import { checkLists } from "../lists.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import { containerOf, jsonSchemaOf, type JsonSchema, type ObjectSchema, type Schema } from "../schema.ts";
import { describeValue, isPlain, isRecord } from "../values.ts";
import type { Tool, ToolDefinition } from "./tool.ts";

const toolNames = {
  name: true,
  description: true,
  input: true,
  output: true,
  readOnly: true,
  uses: true,
  idempotent: true,
  transactional: true,
  timeoutMs: true,
  examples: true,
  execute: true,
  reconcile: true,
} as const satisfies OptionNames<ToolDefinition<ObjectSchema, unknown>>;

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/;

/** The tools that defineTool made: they cannot change, and are not checked again. */
const checked = new WeakSet<object>();

/** What copies were made of. */
const givenAs = new WeakMap<Tool, Tool>();

export function markChecked<T extends object>(tool: T): T {
  checked.add(tool);
  return tool;
}

/** What a section holds of a tool: a copy that cannot change, unless defineTool made it. */
export function placedTool(tool: Tool): Tool {
  if (checked.has(tool)) return tool;
  const placed = markChecked(frozenCopy(tool, Object.keys(toolNames)));
  givenAs.set(placed, tool);
  return placed;
}

/** The object that a section's tool is a copy of, for what is known of that object; the tool itself where it is none. */
export function givenTool(tool: Tool): Tool {
  return givenAs.get(tool) ?? tool;
}

/**
 * Checks a tool that is put into a section, unless defineTool made it.
 * @throws {DefinitionError} as defineTool does.
 */
export function checkPlacedTool(tool: Tool): void {
  // An instance of a class may have fields of its own, which are no options.
  if (!checked.has(tool)) checkTool(tool, (schema) => schema as Schema, isPlain(tool));
}

/** How an object is made of what a schema that is none describes. */
function objectInstead({ anyOf, oneOf, type }: JsonSchema): string {
  if (Array.isArray(anyOf ?? oneOf)) {
    return "Put the union under a key, z.object({ action: z.union([…]) }), or write a tool for each of its objects.";
  }
  const key = type === "array" ? "items: z.array(…)" : "value: …";
  return `Put what it takes under a key: z.object({ ${key} }).`;
}

/**
 * Returns the schemas, as `schemaOf` makes them of what was given.
 * @throws {DefinitionError} naming the tool and what it has to have.
 */
export function checkTool(
  tool: object,
  schemaOf: (given: unknown, what: string) => Schema,
  checksNames = true,
): { readonly input: Schema; readonly output: Schema | undefined } {
  if (!isRecord(tool)) {
    throw new DefinitionError(
      `defineTool takes one object, { name, description, input, execute }, not ${describeValue(tool)}.`,
    );
  }
  const given = tool as { readonly [K in keyof Tool]: unknown };
  const { name, description, execute, timeoutMs } = given;
  if (name === undefined) checkOptionNames("defineTool", tool, toolNames);
  if (typeof name !== "string" || !namePattern.test(name)) {
    throw new DefinitionError(
      `The tool name ${typeof name === "string" ? JSON.stringify(name) : describeValue(name)} must match ${namePattern.source}.`,
    );
  }
  if (checksNames) checkOptionNames(`The tool "${name}"`, tool, toolNames);
  if (typeof description !== "string") throw new DefinitionError(`The tool "${name}" needs a description: a text.`);
  if (typeof execute !== "function") throw new DefinitionError(`The tool "${name}" needs execute: a function.`);
  const input = schemaOf(given.input, `The input of tool "${name}"`);
  const output = schemaOf(given.output, `The output of tool "${name}"`) as Schema | undefined;
  const printed = jsonSchemaOf(input, "input", `The input of tool "${name}"`);
  if (containerOf(withPossibleKeys(printed, `The input of tool "${name}"`)) !== "object") {
    throw new DefinitionError(`The input of tool "${name}" must be an object schema. ${objectInstead(printed)}`);
  }
  checkLists(`tool "${name}"`, tool, "uses", "examples");
  if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && (timeoutMs as number) > 0)) {
    throw new DefinitionError(
      `The timeoutMs of tool "${name}" must be a positive number, not ${typeof timeoutMs === "number" ? timeoutMs : describeValue(timeoutMs)}.`,
    );
  }
  return { input, output };
}
