import { toolError, toolOk, type Message, type StoredFile, type Tool } from "@proviso/core";
import { plainSchema } from "@proviso/core/internal";
import { wholeCharacters, referenceOf } from "./stand-in.ts";

export const readResultName = "read_result";

/** A reference with fewer digits could mean several. */
const shortestReference = 8;

interface Reading {
  readonly ref: string;
  readonly from?: number | undefined;
}

/** What the tool reads: the history as it is now, in pages of so many UTF-16 units. */
export interface Readable {
  messages(): readonly Message[];
  /** undefined: it is not kept any more. */
  textOf(file: StoredFile): Promise<string | undefined>;
  pageCharacters(): number;
}

/** The tool that reads results which the history shows in part, or as a stub. */
export function readResultTool(readable: Readable): Tool {
  return {
    name: readResultName,
    description: "Read a tool's result of which only a part, or nothing, is shown; nothing changes.",
    input: plainSchema<Reading>(
      {
        type: "object",
        properties: {
          ref: { type: "string", description: "The reference as the result names it." },
          from: { type: "integer", minimum: 0, description: "The character to begin with. Default 0." },
        },
        required: ["ref"],
        additionalProperties: false,
      },
      ({ ref, from }) => [
        ...(typeof ref === "string" ? [] : [{ path: "ref", message: "must be a reference" }]),
        ...(from === undefined || isPlace(from) ? [] : [{ path: "from", message: "must be a whole number from 0" }]),
      ],
    ),
    readOnly: true,
    uses: [],
    async execute(input) {
      const { ref, from = 0 } = input as Reading;
      const files = referencesIn(readable.messages());
      const file = ref.length < shortestReference ? undefined : files.find(({ hash }) => hash.startsWith(ref));
      if (file === undefined) return toolError(unknownReference(ref, files));
      const text = await readable.textOf(file);
      if (text === undefined) return toolError(`The result ${referenceOf(file.hash)} is not kept any more.`);
      return toolOk(pageOf(text, from, readable.pageCharacters()));
    },
  };
}

function isPlace(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function referencesIn(messages: readonly Message[]): readonly StoredFile[] {
  return messages.flatMap((message) => (message.role === "tool" && message.full !== undefined ? [message.full] : []));
}

function unknownReference(ref: string, files: readonly StoredFile[]): string {
  const known = [...new Set(files.map(({ hash }) => referenceOf(hash)))];
  const offered = known.length === 0 ? "There are none." : `There are: ${known.join(", ")}.`;
  return `"${ref}" is no reference of this conversation. ${offered}`;
}

function pageOf(text: string, from: number, characters: number): string {
  const start = wholeCharacters(text, Math.min(from, text.length));
  const end = wholeCharacters(text, Math.min(start + characters, text.length));
  const more = end < text.length ? `; it goes on from ${end}` : "";
  return `[Characters ${start} to ${end} of ${text.length}${more}]\n${text.slice(start, end)}`;
}
