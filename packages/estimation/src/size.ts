import {
  sentSchemaOf,
  parseMessages,
  wrappedSchema,
  type Message,
  type Prompt,
  type RenderedPrompt,
} from "@proviso/core";
import { type AdapterFacts, messageOf, charactersOf } from "@proviso/runtime/internal";

/** How much a request carries, in UTF-16 units. */
export interface PromptSize {
  /** The rendered prompt and the messages before it. */
  readonly characters: number;
  /** What goes beside them: the tools' names, descriptions and schemas, the output's schema. */
  readonly overhead: number;
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
  messages: readonly Message[] | undefined,
): PromptSize | Unrendered {
  const earlier = parseMessages(messages ?? []).filter(({ role }) => role !== "system");
  const nativeOutput = facts?.nativeOutput ?? false;
  try {
    const rendered = prompt.render(nativeOutput ? {} : { outputInstructions: true });
    if (rendered.text === "") return { fault: `The prompt "${prompt.template.name}" renders to nothing.` };
    const characters = earlier.reduce((sum, message) => sum + charactersOf(message), rendered.text.length);
    return { characters, overhead: overheadOf(rendered, nativeOutput), hasTools: rendered.tools.length > 0 };
  } catch (error) {
    return { fault: messageOf(error) };
  }
}

function overheadOf({ tools, output }: RenderedPrompt, nativeOutput: boolean): number {
  const specs = tools.map(({ name, description, input }) => [name, description, sentSchemaOf(input)]);
  const schema = nativeOutput && output !== undefined ? [wrappedSchema(output)] : [];
  return [...specs, ...schema].reduce((sum, part) => sum + JSON.stringify(part).length, 0);
}
