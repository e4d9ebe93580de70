import { isRecord } from "@proviso/core/provider";
import { messageOf } from "@proviso/core/internal";
import { parse } from "yaml";

/** What a SKILL.md says. */
export interface SkillText {
  /** The skill's name, which is its folder's: lower case letters, digits and single hyphens, at most 64. */
  readonly name: string;
  /** What the skill does and when to use it, at most 1,024 characters: the model sees it at once. */
  readonly description: string;
  /** The text below the front matter. */
  readonly body: string;
  /** The tools that the skill says it needs; they are named here and given to no one. */
  readonly allowedTools: readonly string[];
  /** The front matter's `metadata`. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

const longestName = 64;
const longestDescription = 1_024;
/** Characters of front matter: what compares its keys takes time that grows with their square. */
const longestFront = 16_384;

/** Reads a SKILL.md, or says what is wrong with it. */
export function readSkillText(text: string, folder: string): SkillText | { readonly fault: string } {
  const parts = frontMatterOf(text);
  if (parts === undefined) {
    return { fault: "it has to begin with front matter: a line ---, name and description, and a line ---" };
  }
  const { front, body } = parts;
  if (front.length > longestFront) {
    return { fault: `its front matter has ${front.length} characters, more than ${longestFront}` };
  }
  let read: unknown;
  try {
    // What the library would print, of an unknown tag for example, is no fault of the skill.
    read = parse(front, { logLevel: "error" });
  } catch (error) {
    return { fault: `its front matter is no YAML: ${messageOf(error).split("\n")[0] ?? ""}` };
  }
  if (!isRecord(read)) return { fault: "its front matter has to have name and description" };
  const { name, description, metadata = {}, "allowed-tools": allowed = [] } = read;
  const fault = faultOf(name, folder) ?? descriptionFault(description);
  if (fault !== undefined) return { fault };
  if (!isRecord(metadata)) return { fault: "metadata has to be a map" };
  const allowedTools = toolsIn(allowed);
  if (allowedTools === undefined) return { fault: "allowed-tools has to be a text or a list of texts" };
  return {
    name: name as string,
    description: (description as string).trim(),
    body: body.trim(),
    allowedTools,
    metadata,
  };
}

function frontMatterOf(text: string): { readonly front: string; readonly body: string } | undefined {
  const whole = text.startsWith("\u{feff}") ? text.slice(1) : text;
  const [first, second] = [...whole.matchAll(/^---[ \t]*\r?$/gm)];
  if (first?.index !== 0 || second === undefined) return undefined;
  const end = second.index + second[0].length;
  return { front: whole.slice(first[0].length, second.index), body: whole.slice(end) };
}

function faultOf(name: unknown, folder: string): string | undefined {
  if (typeof name !== "string" || name === "") return "its front matter has no name";
  if (name.length > longestName || !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name)) {
    return `its name "${name.slice(0, longestName)}" has to be lower case letters, digits and single hyphens, at most ${longestName}`;
  }
  return name === folder ? undefined : `its name "${name}" has to be the name of its folder, "${folder}"`;
}

function descriptionFault(description: unknown): string | undefined {
  if (typeof description !== "string" || description.trim() === "") return "its front matter has no description";
  const { length } = description.trim();
  if (length > longestDescription) return `its description has ${length} characters, more than ${longestDescription}`;
  return undefined;
}

/** Names are separated by spaces or commas, as tools of different makers read them; `Bash(git add:*)` is one. */
function toolsIn(allowed: unknown): readonly string[] | undefined {
  if (allowed === null) return [];
  if (typeof allowed === "string") return allowed.match(/[^\s,(]+(?:\([^)]*\))?/g) ?? [];
  return Array.isArray(allowed) && allowed.every((name) => typeof name === "string") ? allowed : undefined;
}
