import type { CompiledSection } from "./compile.ts";

/** A part of a rendered text. */
export interface RenderedSection {
  /** The dotted path of the section; empty for the task examples and the output instructions. */
  readonly path: string;
  /** Whether it is a section, the task examples, or the instructions for the output. */
  readonly part: "section" | "examples" | "output";
  /** Where it begins in the text, in UTF-16 units. */
  readonly start: number;
  /** Where it ends in the text; the end is not included. */
  readonly end: number;
  /** Whether it is shown in full, as its summary, or with a text that came from a slice. */
  readonly shown: "full" | "summary" | "state";
  /** The prompt's own text that an override replaced, with its placeholders; left out: nothing was replaced. */
  readonly replaced?: string | undefined;
}

/** The texts of a rendering, one after the other, and what each of them is. */
export interface RenderedParts {
  /** The texts of the sections that are shown, then the task examples and the output instructions; empty ones included. */
  readonly texts: readonly string[];
  readonly shown: readonly { readonly compiled: CompiledSection; readonly summarised: object | undefined }[];
  readonly hasExamples: boolean;
  readonly overridden: ReadonlyMap<string, { readonly text?: unknown; readonly summary?: unknown }> | undefined;
  /** The paths of sections whose texts came from a slice. */
  readonly fromState: ReadonlySet<string> | undefined;
}

/** Says where each part of a rendered text is; `textOf` replaces the texts, for a text that was changed after that. */
export function sectionsOf(parts: RenderedParts, textOf: (text: string) => string): readonly RenderedSection[] {
  const sections: RenderedSection[] = [];
  let start = 0;
  for (const [index, own] of parts.texts.entries()) {
    const text = textOf(own);
    if (text === "") continue;
    const end = start + text.length;
    sections.push({ ...whatItIs(parts, index), start, end });
    start = end + 2;
  }
  return sections;
}

function whatItIs(
  { shown, hasExamples, overridden, fromState }: RenderedParts,
  index: number,
): Omit<RenderedSection, "start" | "end"> {
  const section = shown[index];
  if (section === undefined) {
    return { path: "", part: hasExamples && index === shown.length ? "examples" : "output", shown: "full" };
  }
  const { path, section: own } = section.compiled;
  const texts = overridden?.get(path);
  if (section.summarised !== undefined) {
    return { path, part: "section", shown: "summary", ...replacedBy(texts?.summary, own.summary) };
  }
  if (fromState?.has(path) === true) return { path, part: "section", shown: "state" };
  return { path, part: "section", shown: "full", ...replacedBy(texts?.text, own.text) };
}

function replacedBy(override: unknown, own: string | undefined): Pick<RenderedSection, "replaced"> {
  return override === undefined ? {} : { replaced: own ?? "" };
}
