import type { ModelResponse, SchemaIssue } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import {
  describeIssues,
  parseWithSchema,
  wrapperKey,
  type OutputSpec,
  type SchemaResult,
  messageOf,
} from "@proviso/core/internal";
import { repairText } from "../history.ts";
import { failure, type Failure, type OutputFailure } from "../failures.ts";
import { extractJson } from "./extract.ts";

export interface ParsedOutput {
  /** null when a structured output was parsed. */
  readonly text: string | null;
  readonly output: unknown;
}

/**
 * The answer as the prompt's output: the provider's native payload first, else what the text holds. At once where the
 * output is the text.
 */
export function parseOutput(
  spec: OutputSpec<unknown> | undefined,
  response: ModelResponse,
): ParsedOutput | Promise<ParsedOutput | Failure> {
  const { text } = response.message;
  return spec === undefined ? { text, output: text } : parseStructured(spec, response);
}

async function parseStructured(spec: OutputSpec<unknown>, response: ModelResponse): Promise<ParsedOutput | Failure> {
  const { text } = response.message;
  const read = response.parsed === undefined ? extractJson(text) : ({ ok: true, value: response.parsed } as const);
  if (!read.ok) return outputFailure(response, [{ path: "", message: read.error }]);
  const result = await validate(spec, read.value).catch(unchecked);
  return result.ok ? { text: null, output: result.value } : outputFailure(response, result.issues, result.unlisted);
}

/**
 * Returns the message to a model whose answer does not fit: the first issues, each cut, and how many more there are.
 */
export function repairRequest({ issues, unlisted }: Pick<OutputFailure, "issues" | "unlisted">): string {
  return repairText(describeIssues(issues, unlisted));
}

/** A schema of the user's that throws. */
function unchecked(error: unknown): Extract<SchemaResult<never>, { ok: false }> {
  return { ok: false, issues: [{ path: "", message: `the schema failed: ${messageOf(error)}` }] };
}

/** Arrays and values come bare or wrapped. */
async function validate(spec: OutputSpec<unknown>, value: unknown): Promise<SchemaResult<unknown>> {
  if (spec.container === "object") return parseWithSchema(spec.schema, value);
  const key = wrapperKey[spec.container];
  const wrapped = isRecord(value) && Object.keys(value).length === 1 && Object.hasOwn(value, key);
  if (!wrapped) return parseWithSchema(spec.schema, value);
  const inner = await parseWithSchema(spec.schema, value[key]);
  if (inner.ok) return inner;
  const bare = await parseWithSchema(spec.schema, value);
  return bare.ok ? bare : inner;
}

function outputFailure(response: ModelResponse, issues: readonly SchemaIssue[], unlisted = 0): OutputFailure {
  return failure({
    stop: "output",
    phase: "response",
    message: `The answer is not the output that was asked for: ${describeIssues(issues, unlisted)}.`,
    rawText: response.message.text,
    issues,
    unlisted,
    payload: response.payload,
  });
}

/** A final answer, and what was read from it. */
export type Answer = ParsedOutput & { readonly response: ModelResponse };
