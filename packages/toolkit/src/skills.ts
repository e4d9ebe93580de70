// 1. A skill is read whole and checked before anything is made of it; a broken one is refused with its path.
// 2. The model reads the files that were found when the skills were read, and no others.
// 3. Nothing in a skill is run.
import { DefinitionError, defineSection, defineTool, toolError, type Filesystem, type Section } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { messageOf } from "@proviso/core/internal";
import { secretsOf } from "@proviso/runtime/internal";
import { z } from "zod";
import { pageOfFile } from "./file-page.ts";
import { readSkillText, type SkillText } from "./skill-text.ts";

/** An Agent Skill: a folder with a SKILL.md. Source of the format: https://agentskills.io/specification */
export interface Skill extends SkillText {
  /** The skill's folder in its filesystem. Default: the skill's name. */
  readonly path?: string;
  /** Paths below the skill's folder, sorted; SKILL.md is not among them. */
  readonly files: readonly string[];
}

/** Files of one skill, SKILL.md included. */
const mostFiles = 512;
/** Bytes of all files of one skill. */
const mostBytes = 16 * 1024 * 1024;
/** Folders that are looked through for skills. */
const mostFolders = 10_000;
/** Bytes of a SKILL.md: a model reads it in one piece. */
const longestText = 256 * 1024;

const fileName = "SKILL.md";

/**
 * Reads every skill below a folder: each folder with a SKILL.md is one, whatever is below that belongs to it. Skills are
 * sorted by their paths.
 * @param path The folder in the filesystem. Default: its root.
 * @throws {DefinitionError} for a skill that breaks the format (its name is its folder's, its description has at most 1,024
 * characters, it has at most 512 files and 16 MiB), with the path; {FilesystemError} for a folder that is not there.
 */
export async function readSkills(filesystem: Filesystem, path = ""): Promise<readonly Skill[]> {
  const skills: Skill[] = [];
  const left = [withoutSlash(path)];
  let looked = 0;
  for (let folder = left.shift(); folder !== undefined; folder = left.shift()) {
    if (++looked > mostFolders) {
      throw new DefinitionError(
        `readSkills has looked through ${mostFolders} folders below "${path}": name the folder that the skills are in.`,
      );
    }
    const entries = await filesystem.list(folder);
    const skillFile = entries.find(({ name, kind }) => name === fileName && kind === "file");
    if (skillFile !== undefined) skills.push(await readSkill(filesystem, folder, skillFile.size));
    else left.push(...entries.filter(({ kind }) => kind === "directory").map(({ name }) => inFolder(folder, name)));
  }
  return Object.freeze(skills.toSorted((a, b) => ((a.path ?? "") < (b.path ?? "") ? -1 : 1)));
}

async function readSkill(filesystem: Filesystem, folder: string, size: number): Promise<Skill> {
  const refuse = (fault: string): DefinitionError =>
    new DefinitionError(`The skill ${inFolder(folder, fileName)} cannot be used: ${fault}.`);
  if (size > longestText) throw refuse(`it has ${size} bytes, more than ${longestText}`);
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(await filesystem.readBytes(inFolder(folder, fileName)));
  } catch (error) {
    throw refuse(messageOf(error));
  }
  const read = readSkillText(text, folder.split("/").at(-1) ?? "");
  if ("fault" in read) throw refuse(read.fault);
  const files = await filesBelow(filesystem, folder, refuse);
  return Object.freeze({ ...read, path: folder, files });
}

async function filesBelow(
  filesystem: Filesystem,
  skill: string,
  refuse: (fault: string) => DefinitionError,
): Promise<readonly string[]> {
  const files: string[] = [];
  const left = [""];
  let [count, bytes, folders] = [0, 0, 0];
  for (let folder = left.shift(); folder !== undefined; folder = left.shift()) {
    if (++folders > mostFiles) throw refuse(`it has more than ${mostFiles} folders`);
    for (const { name, kind, size } of await filesystem.list(inFolder(skill, folder))) {
      const path = inFolder(folder, name);
      if (kind === "directory") {
        left.push(path);
        continue;
      }
      bytes += size;
      if (++count > mostFiles) throw refuse(`it has more than ${mostFiles} files`);
      if (bytes > mostBytes) throw refuse(`its files have more than ${mostBytes} bytes`);
      if (path !== fileName) files.push(path);
    }
  }
  return Object.freeze(files.toSorted());
}

/**
 * Makes one section of skills. The model sees the name and the description of each, reads a skill by `read_section` when it
 * needs it, and the skill's files by `read_skill_file`; the prompt stays as it is. Nothing in a skill is run.
 * @param options.key The section's key.
 * @param options.title The section's heading. Default "Skills".
 * @param options.filesystem Where the skills' files are read: the one that `readSkills` was given.
 * @throws {DefinitionError} without a skill, and for two of one name.
 */
export function skillsSection(
  skills: readonly Skill[],
  options: { readonly key: string; readonly title?: string; readonly filesystem: Filesystem },
): Section {
  checkOptionNames("skillsSection", options, { key: true, title: true, filesystem: true });
  const { key, title = "Skills", filesystem } = options;
  if (skills.length === 0) {
    throw new DefinitionError("skillsSection needs a skill: readSkills found none, or the list is empty.");
  }
  const names = skills.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new DefinitionError(`Two skills are named "${twice}": leave one out.`);
  const hasFiles = skills.some(({ files }) => files.length > 0);
  return defineSection({
    key,
    title,
    text: "Each skill says how to do one kind of task. Read the skill that fits the task before you begin.",
    tools: hasFiles ? [readSkillFile(skills, filesystem)] : [],
    children: skills.map(({ name, description, body, files }) => ({
      key: name,
      title: name,
      text: literal(
        files.length === 0 ? body : `${body}\n\nFiles of this skill, for read_skill_file: ${files.join(", ")}`,
      ),
      summary: literal(description),
      visibility: "summary" as const,
    })) as readonly Section[],
  });
}

function readSkillFile(skills: readonly Skill[], filesystem: Filesystem) {
  const byName = new Map(skills.map((skill) => [skill.name, skill]));
  return defineTool({
    name: "read_skill_file",
    description: "Read a text file of a skill, as the skill names it.",
    input: z.object({
      skill: z.string().describe("the skill's name"),
      path: z.string().describe("relative to the skill's folder"),
      fromLine: z.number().int().positive().default(1).describe("from 1"),
    }),
    uses: [],
    readOnly: true,
    async execute({ skill: name, path, fromLine }, context) {
      const skill = byName.get(name);
      if (skill === undefined)
        return toolError(`There is no skill "${name}". The skills are: ${[...byName.keys()].join(", ")}.`);
      const file = path.replace(/^(?:\.\/)+/, "");
      if (!skill.files.includes(file)) {
        const offered = skill.files.length === 0 ? "It has none." : `Its files are: ${skill.files.join(", ")}.`;
        return toolError(`The skill ${name} has no file "${path}". ${offered}`);
      }
      return await pageOfFile(filesystem, inFolder(skill.path ?? name, file), {
        fromLine,
        shownAs: file,
        secrets: secretsOf(context),
      });
    },
  });
}

/** A text that is shown as it is: a prompt's texts have placeholders. */
function literal(text: string): string {
  return text.replaceAll("{{", "\\{{");
}

function inFolder(folder: string, name: string): string {
  return folder === "" || name === "" ? `${folder}${name}` : `${folder}/${name}`;
}

function withoutSlash(path: string): string {
  return path.replace(/\/+$/, "").replace(/^(?:\.(?:\/|$))+/, "");
}
