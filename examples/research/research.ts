import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  toolError,
  toolOk,
  type ProviderAdapter,
  type Tool,
} from "@proviso/core";
import { z } from "zod";

const found = defineEvent("quote.found", z.object({ path: z.string(), quotes: z.array(z.string()) }));

/** What the documents say, as it was checked. It is state: a history that is shortened does not shorten it. */
export const findings = defineSlice({
  name: "findings",
  initial: [] as readonly { readonly path: string; readonly quotes: readonly string[] }[],
  reducers: ({ on }) => on(found, (draft, { path, quotes }) => void draft.push({ path, quotes })),
});

/** Documents and the tools that read them, and who is asked. */
export interface Library {
  /** Lists the folder. */
  readonly list: Tool;
  /** Reads a document. */
  readonly read: Tool;
  readonly adapter: ProviderAdapter;
}

/** Asks one document: a sub-evaluation reads it, and the history of the research gets the quotes alone. */
function readerOf({ read }: Pick<Library, "read">) {
  return definePrompt({
    ns: "research",
    key: "reader",
    params: z.object({ path: z.string(), question: z.string() }),
    output: z.object({ quotes: z.array(z.string()) }),
    sections: [
      {
        key: "rules",
        text: "Read the document. Return the sentences that help to answer the question, word by word; none, if none does.",
        tools: [read],
      },
      { key: "task", role: "user", text: "Document: {{path}}\nQuestion: {{question}}" },
    ],
  });
}

/** The prompt of the research, over a folder of documents. */
export function researchPrompt(library: Library) {
  const reader = readerOf(library);
  const askDocument = defineTool({
    name: "ask_document",
    description: "Reads one document and returns the sentences in it that help to answer the question.",
    input: z.object({ path: z.string(), question: z.string() }),
    async execute({ path, question }, { session, evaluate }) {
      const { output, toolResults } = await evaluate(reader.bind({ path, question }), { adapter: library.adapter });
      const text = toolResults.map(({ result }) => result.message).join("\n");
      const made = output.quotes.find((quote) => !text.includes(quote));
      // The call is undone, and the model reads why.
      if (made !== undefined) return toolError(`This is not in ${path}, ask again: ${JSON.stringify(made)}`);
      session.dispatch(found({ path, quotes: output.quotes }));
      return toolOk({ path, quotes: output.quotes });
    },
  });
  return definePrompt({
    ns: "research",
    key: "question",
    params: z.object({ question: z.string() }),
    output: z.object({ answer: z.string(), sources: z.array(z.string()) }),
    slices: [findings],
    sections: [
      {
        key: "rules",
        text: 'Answer the question from the documents in the folder "." alone. List them, and ask each of them once. Name the documents that the answer rests on.',
        tools: [library.list, askDocument],
      },
      { key: "question", role: "user", text: "{{question}}" },
    ],
  });
}
