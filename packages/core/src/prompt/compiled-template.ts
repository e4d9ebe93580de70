import type { Binding } from "../resources/binding.ts";
import type { Schema } from "../schema.ts";
import type { CompletionChecker } from "../tool/completion.ts";
import type { FeedbackProvider } from "../tool/feedback.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { CompiledSection } from "./compile.ts";
import type { PromptDescriptor } from "./descriptor.ts";
import type { TaskExample } from "./examples.ts";
import type { OutputSpec } from "./output.ts";
import type { Outline } from "./render.ts";

/** What goes into a prompt and what comes out of it; undefined where nothing does, or the answer's text. */
export interface PromptSchemas {
  readonly params: Schema | undefined;
  readonly output: Schema | undefined;
}

/** A template with all that rendering needs. */
export interface CompiledTemplate {
  readonly name: string;
  readonly sections: readonly CompiledSection[];
  /** Every section, parents first. */
  readonly all: readonly CompiledSection[];
  /** Whether no section is the user's: all of the text is then, for some providers refuse a request without it. */
  readonly isOneUserMessage: boolean;
  /** What a rendering shows and offers; undefined where that depends on the params. */
  readonly whole: Outline | undefined;
  readonly tools: readonly Tool[];
  /** The names of params that the schema declares: one that is absent is an empty text. */
  readonly declared: ReadonlySet<string>;
  readonly policies: readonly ToolPolicy[];
  readonly feedback: readonly FeedbackProvider[];
  readonly completion: CompletionChecker | undefined;
  readonly examples: readonly TaskExample[];
  readonly resources: readonly Binding[];
  readonly descriptor: PromptDescriptor;
  readonly output: OutputSpec<unknown> | undefined;
  readonly outputInstructions: boolean;
  /** The schemas that the prompt was defined with. */
  readonly schemas: PromptSchemas;
}
