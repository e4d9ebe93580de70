import {
  parseMessages,
  type FileRef,
  type Message,
  type ModelRequest,
  type Prompt,
  type RenderedPrompt,
} from "@proviso/core";
import { emptyQuestion, wrappedSchema, messageOf } from "@proviso/core/internal";
import {
  charactersOf,
  tokensBeside,
  tokensOf,
  tokensOfFile,
  toolSpecs,
  type AdapterFacts,
} from "@proviso/runtime/internal";

/** How much a request carries, in UTF-16 units unless a field has another unit. */
export interface PromptSize {
  /** The rendered prompt and the messages before it. */
  readonly characters: number;
  /** What goes beside them: the tools' names, descriptions and schemas, the output's schema. */
  readonly overhead: number;
  /** Tokens of all of that, as budgets estimate them. */
  readonly tokens: number;
  readonly hasTools: boolean;
}

/** Why a prompt cannot be rendered, so that no request of it is ever sent. */
export interface Unrendered {
  readonly fault: string;
}

/** @throws {DefinitionError} for messages that are none. */
export function sizeOf(
  prompt: Prompt,
  facts: AdapterFacts | undefined,
  earlierMessages: readonly Message[] | undefined,
): PromptSize | Unrendered {
  const earlier = parseMessages(earlierMessages ?? []).filter(({ role }) => role !== "system");
  const nativeOutput = facts?.nativeOutput ?? false;
  try {
    const rendered = prompt.render(nativeOutput ? {} : { outputInstructions: true });
    const fault = emptyQuestion(prompt.template.name, rendered);
    if (fault !== undefined) return { fault };
    const messages: readonly Message[] = [...earlier, { role: "user", text: rendered.text }];
    const bound = (file: FileRef): number | undefined => facts?.files?.tokensOf?.(file);
    const ofFiles = (rendered.files ?? []).reduce((sum, { file }) => sum + tokensOfFile(file, bound), 0);
    const beside = besideOf(rendered, nativeOutput);
    return {
      characters: messages.reduce((sum, message) => sum + charactersOf(message), 0),
      overhead: overheadOf(beside),
      tokens: messages.reduce((sum, message) => sum + tokensOf(message, bound), tokensBeside(beside) + ofFiles),
      hasTools: rendered.tools.length > 0,
    };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

type Beside = Pick<ModelRequest, "tools" | "output">;

function besideOf(rendered: RenderedPrompt, nativeOutput: boolean): Beside {
  const { output } = rendered;
  const isSent = nativeOutput && output !== undefined;
  return { tools: toolSpecs(rendered), output: isSent ? { name: "", schema: wrappedSchema(output) } : undefined };
}

function overheadOf({ tools, output }: Beside): number {
  const specs = tools.map(({ name, description, inputSchema }) => [name, description, inputSchema]);
  const parts = output === undefined ? specs : [...specs, output.schema];
  return parts.reduce((sum, part) => sum + JSON.stringify(part).length, 0);
}
