// What a model of the ecosystem returns beside its text: thoughts and sources.
import type { LanguageModelV4Content } from "@ai-sdk/provider";
import type { Source } from "@proviso/core";

/** What stands between two blocks of thoughts, streamed or not. */
export const betweenThoughts = "\n\n";

/** The thoughts of an answer; nothing where there are none. */
export function thoughtsIn(content: readonly LanguageModelV4Content[]): { readonly reasoning?: string } {
  const texts = content.flatMap((part) => (part.type === "reasoning" && part.text !== "" ? [part.text] : []));
  return texts.length === 0 ? {} : { reasoning: texts.join(betweenThoughts) };
}

/** The sources of an answer; nothing where there are none. */
export function sourcesIn(content: readonly LanguageModelV4Content[]): { readonly sources?: readonly Source[] } {
  const sources = content.flatMap((part): readonly Source[] => {
    if (part.type !== "source") return [];
    const { title } = part;
    return part.sourceType === "url"
      ? [{ kind: "url", url: part.url, title }]
      : [{ kind: "document", title, fileName: part.filename }];
  });
  return sources.length === 0 ? {} : { sources };
}
