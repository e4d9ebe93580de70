import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Prompt,
  LanguageModelV4Usage,
  SharedV4Warning,
} from "@ai-sdk/provider";

/** An answer of a model, as `doGenerate` gives it and as a stream adds up to it. */
export interface Answer {
  readonly content: readonly LanguageModelV4Content[];
  readonly finishReason: LanguageModelV4FinishReason | string | undefined;
  readonly usage: LanguageModelV4Usage | undefined;
  readonly structuredOutputText?: string | undefined;
  readonly providerMetadata?: unknown;
  /** The tier that served, where only the raw events name it. */
  readonly serviceTier?: string | undefined;
  readonly warnings?: readonly SharedV4Warning[] | undefined;
  readonly response?:
    | {
        readonly modelId?: string | undefined;
        readonly headers?: Readonly<Record<string, string>> | undefined;
        readonly body?: unknown;
      }
    | undefined;
}

export type AssistantPart = Extract<LanguageModelV4Prompt[number], { role: "assistant" }>["content"][number];

/** A file that the model made: its place among the message's files. The bytes are in no message. */
export interface MadeFile {
  readonly type: "made-file";
  readonly index: number;
  readonly providerOptions?: AssistantPart["providerOptions"];
}

/** What `fromAiSdk` keeps of an answer for its replay, marked with the provider that understands it. */
export interface KeptParts {
  readonly api: "ai-sdk";
  readonly provider: string;
  /** The parts in the answer's order; a tool call's arguments are the message's own. */
  readonly parts: readonly (AssistantPart | MadeFile)[];
}

/** An object without what was not set. */
export function defined<T extends object>(object: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const set = Object.entries(object).filter(([, value]) => value !== undefined);
  return Object.fromEntries(set) as { [K in keyof T]: Exclude<T[K], undefined> };
}
