import { DefinitionError } from "../errors.ts";
import { describeIssues } from "../schema-issues.ts";
import { parseWithSchemaSync, type Schema } from "../schema.ts";
import type { Tool } from "../tool/tool.ts";

/** A whole task, shown to the model. */
export interface TaskExample {
  /** What the task asks for. */
  readonly objective: string;
  /** The calls that solve it, in their order. Each names a tool of the prompt. */
  readonly steps: readonly { readonly tool: string; readonly input: unknown; readonly output?: unknown }[];
  /** The output in the end; checked with the prompt's output schema. */
  readonly outcome?: unknown;
}

/** @throws {DefinitionError} for an example that its tool would not take, or not give. */
export function checkToolExamples(tool: Tool): void {
  for (const [index, { input, output }] of (tool.examples ?? []).entries()) {
    const where = `Example ${index + 1} of tool "${tool.name}"`;
    check(tool.input, input, `${where}: the input`);
    if (tool.output !== undefined) check(tool.output, output, `${where}: the output`);
  }
}

/** @throws {DefinitionError} for an example that names unknown tools, or that tools or output would not take. */
export function checkTaskExamples(
  examples: readonly TaskExample[],
  tools: readonly Tool[],
  output: Schema | undefined,
): void {
  for (const [index, { steps, outcome }] of examples.entries()) {
    for (const [at, step] of steps.entries()) {
      const where = `Step ${at + 1} of task example ${index + 1}`;
      const tool = tools.find(({ name }) => name === step.tool);
      if (tool === undefined) throw new DefinitionError(`${where} names the unknown tool "${step.tool}".`);
      check(tool.input, step.input, `${where}: the input of "${step.tool}"`);
      if (tool.output !== undefined && step.output !== undefined) {
        check(tool.output, step.output, `${where}: the output of "${step.tool}"`);
      }
    }
    if (outcome !== undefined && output !== undefined) check(output, outcome, `Task example ${index + 1}: the outcome`);
  }
}

function check(schema: Schema, value: unknown, what: string): void {
  const result = parseWithSchemaSync(schema, value, what);
  if (result.ok) return;
  const { issues, unlisted } = result;
  throw new DefinitionError(`${what} does not fit: ${describeIssues(issues, unlisted)}.`, { issues });
}

/** The examples of a section's tools, below its text. */
export function toolExamplesText(tools: readonly Tool[]): string {
  const lines = tools.flatMap(({ name, examples = [] }) =>
    examples.map(({ description, input, output }) =>
      [`Example of ${name}: ${description}`, `- input: ${shown(input)}`, `- output: ${shown(output)}`].join("\n"),
    ),
  );
  return lines.join("\n\n");
}

/** Whole tasks, after the sections. */
export function taskExamplesText(examples: readonly TaskExample[]): string {
  if (examples.length === 0) return "";
  const tasks = examples.map(({ objective, steps, outcome }, index) =>
    [
      `### Example ${index + 1}: ${objective}`,
      ...steps.map(({ tool, input, output }, at) => {
        const result = output === undefined ? "" : ` → ${shown(output)}`;
        return `${at + 1}. ${tool} ${shown(input)}${result}`;
      }),
      ...(outcome === undefined ? [] : [`Outcome: ${shown(outcome)}`]),
    ].join("\n"),
  );
  return ["## Examples", ...tasks].join("\n\n");
}

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  const text = JSON.stringify(value, (_key, item: unknown) => (typeof item === "bigint" ? item.toString() : item));
  return text ?? "nothing";
}
