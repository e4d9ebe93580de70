import {
  DefinitionError,
  defineTool,
  Filesystem,
  FilesystemError,
  toolError,
  type Tool,
  type ToolReturn,
} from "@proviso/core";
import { checkOptionNames, type OptionNames } from "@proviso/core/provider";
import { givenTool, textFinder, describeValue } from "@proviso/core/internal";
import { secretsOf, type UncutSecrets } from "@proviso/runtime/internal";
import { z } from "zod";
import { editOf } from "./edit-text.ts";
import { around, defaultPage, pageOfFile, wholeLines } from "./file-page.ts";

/** What `filesystemTools` takes. */
export interface FilesystemToolsOptions {
  /** Leave out what changes files. Default false. */
  readonly readOnly?: boolean | undefined;
  /** Lines of one page of read_file. Default 1,000. */
  readonly maxLinesPerPage?: number | undefined;
  /** UTF-16 units of one answer. Default 40,000. */
  readonly maxCharactersPerAnswer?: number | undefined;
  /** Paths and matches in one answer. Default 200. */
  readonly maxEntriesPerAnswer?: number | undefined;
}

type Limits = { readonly [K in "maxLinesPerPage" | "maxCharactersPerAnswer" | "maxEntriesPerAnswer"]: number };

const workspaceTools = new WeakSet<Tool>();

/** Whether a tool works on a workspace: one of ours, or one that was passed to `asWorkspaceTools`. */
export function isWorkspaceTool(tool: Tool): boolean {
  return workspaceTools.has(givenTool(tool));
}

/** Tools of one's own that work on a workspace; the section that has them is a workspace section. */
export function asWorkspaceTools<const T extends readonly Tool[]>(tools: T): T {
  for (const tool of tools) workspaceTools.add(tool);
  return tools;
}

/**
 * list_files, read_file, glob_files, grep_files, write_file, edit_file and remove_file over the bound `Filesystem`.
 * A refused path or a missing file is a failed result that says what to do. Those that change files are `transactional`:
 * over a `Filesystem` of your own that takes no part in transactions, spread them with `transactional: false`.
 * @throws {DefinitionError} for an option that is no positive whole number.
 */
export function filesystemTools(options: FilesystemToolsOptions = {}): readonly Tool[] {
  checkOptionNames("filesystemTools", options, optionNames);
  const {
    maxLinesPerPage = defaultPage.maxLinesPerPage,
    maxCharactersPerAnswer = defaultPage.maxCharactersPerAnswer,
    maxEntriesPerAnswer = 200,
  } = options;
  const limits: Limits = { maxLinesPerPage, maxCharactersPerAnswer, maxEntriesPerAnswer };
  for (const [name, value] of Object.entries(limits)) {
    if (Number.isInteger(value) && value > 0) continue;
    throw new DefinitionError(`filesystemTools: ${name} must be a positive whole number, not ${describeValue(value)}.`);
  }
  const reading = [listFiles(limits), readFile(limits), globFiles(limits), grepFiles(limits)];
  const changing = options.readOnly === true ? [] : [writeFile(), editFile(), removeFile()];
  return asWorkspaceTools(Object.freeze([...reading, ...changing]) as readonly Tool[]);
}

const optionNames = {
  maxLinesPerPage: true,
  maxCharactersPerAnswer: true,
  maxEntriesPerAnswer: true,
  readOnly: true,
} as const satisfies OptionNames<FilesystemToolsOptions>;

const where = "relative to the root of the workspace";
const path = z.string().describe(where);
/** A file cannot hold half of a surrogate pair: it would become another character. */
const storable = z
  .string()
  .refine((text) => text.isWellFormed(), "has half of a surrogate pair: give whole characters");

const changesFilesAlone = { transactional: true, uses: [Filesystem] } as const;

function listFiles(limits: Limits) {
  return defineTool({
    name: "list_files",
    description: "List one folder: its files with their sizes in bytes, and its folders.",
    input: z.object({
      path: path.default(""),
      offset: z.number().int().nonnegative().default(0).describe("entries to skip"),
    }),
    readOnly: true,
    execute: ({ path: folder, offset }, context) =>
      working(context, async (files) => {
        const entries = await files.list(folder);
        const lines = entries.map(({ name, kind, size }) =>
          kind === "file" ? `${named(name)} (${size})` : `${named(name)}/`,
        );
        return page(lines, { offset, limits, what: "entries", none: "The folder is empty." });
      }),
  });
}

function readFile(limits: Limits) {
  return defineTool({
    name: "read_file",
    description: `Read a text file, at most ${limits.maxLinesPerPage} lines at a time; the first line of the answer tells which.`,
    input: z.object({ path, fromLine: z.number().int().positive().default(1).describe("from 1") }),
    readOnly: true,
    execute: ({ path: file, fromLine }, context) =>
      working(context, (files) =>
        pageOfFile(files, file, {
          fromLine,
          ...limits,
          cut: ", find the rest of it with grep_files",
          secrets: secretsOf(context),
        }),
      ),
  });
}

function globFiles(limits: Limits) {
  return defineTool({
    name: "glob_files",
    description: "Find files by name: *, **, ?, [abc], {a,b}.",
    input: z.object({
      pattern: z.string().min(1),
      offset: z.number().int().nonnegative().default(0).describe("paths to skip"),
    }),
    readOnly: true,
    execute: ({ pattern, offset }, context) =>
      working(context, async (files) =>
        page((await files.glob(pattern)).map(named), {
          offset,
          limits,
          what: "paths",
          none: "No file fits the pattern.",
        }),
      ),
  });
}

function grepFiles(limits: Limits) {
  return defineTool({
    name: "grep_files",
    description: "Find lines that contain a text, literally.",
    input: z.object({ text: z.string().min(1), glob: z.string().min(1).optional().describe("only in files that fit") }),
    readOnly: true,
    execute: ({ text, glob }, context) =>
      working(context, async (files) => {
        if (text.includes("\n")) return toolError("A line has no line break in it: look for a text of one line.");
        const found = await files.grep(text, {
          ...(glob === undefined ? {} : { glob }),
          maxMatches: limits.maxEntriesPerAnswer + 1,
        });
        if (found.length === 0) return "No line contains it.";
        const find = textFinder(text);
        const secrets = secretsOf(context);
        const matches = found.map(({ path: at, line, text: whole }) => {
          const match = { line: whole, at: find(whole), length: text.length };
          return `${named(at)}:${line}: ${around(match, secrets)}`;
        });
        const { shown, count } = fitting(matches, limits, secrets);
        return count < found.length ? `${shown}\n(more: narrow it with a glob or a longer text)` : shown;
      }),
  });
}

function writeFile() {
  return defineTool({
    name: "write_file",
    description: "Write a whole file; folders above it are made.",
    input: z.object({ path, text: storable }),
    idempotent: true,
    ...changesFilesAlone,
    execute: ({ path: file, text }, context) =>
      working(context, async (files) => {
        await files.write(file, text);
        return `Wrote ${file}, ${text.length} characters.`;
      }),
  });
}

/** Bytes. Decoding and searching a text happen in one stretch, while no deadline and no abort is noticed. */
const largestEdited = 64 * 1024 * 1024;

function editFile() {
  return defineTool({
    name: "edit_file",
    description: "Replace a text in a file by another. It must occur once, unless all is true.",
    input: z.object({
      path,
      find: storable.min(1).describe("exactly as it stands in the file"),
      replace: storable,
      all: z.boolean().default(false),
    }),
    ...changesFilesAlone,
    execute: ({ path: file, find, replace, all }, context) =>
      working(context, async (files) => {
        const bytes = await files.readBytes(file);
        if (bytes.length > largestEdited) {
          return toolError(`${file} has ${bytes.length} bytes: a file of more than ${largestEdited} cannot be edited.`);
        }
        const text = decoded(bytes);
        if (text === undefined) return toolError(`${file} is not UTF-8 text: it cannot be edited.`);
        const edit = editOf(text, { file, find, replace, all });
        if ("refusal" in edit) return toolError(edit.refusal);
        await files.write(file, edit.text);
        return `Replaced ${edit.times} in ${file}.`;
      }),
  });
}

function removeFile() {
  return defineTool({
    name: "remove_file",
    description: "Remove a file, or a folder with everything in it.",
    input: z.object({ path: z.string().min(1).describe(where) }),
    ...changesFilesAlone,
    execute: ({ path: file }, context) =>
      working(context, async (files) => {
        if (!file.startsWith("/") && file.split("/").every((name) => name === "" || name === "."))
          return toolError("That is the whole workspace: name a file or a folder in it.");
        await files.remove(file);
        return `Removed ${file}.`;
      }),
  });
}

/** What a filesystem refuses is for the model to read. */
async function working(
  { resources }: { readonly resources: { open(key: typeof Filesystem): Promise<Filesystem> } },
  work: (files: Filesystem) => Promise<string | ToolReturn<never>>,
): Promise<string | ToolReturn<never>> {
  try {
    return await work(await resources.open(Filesystem));
  } catch (error) {
    if (error instanceof FilesystemError) return toolError(`${error.message}${hints[error.reason] ?? ""}`);
    throw error;
  }
}

const hints: { readonly [reason in FilesystemError["reason"]]?: string } = {
  not_found: " Look with list_files or glob_files.",
  invalid_path: " Paths are relative to the root of the workspace.",
  not_a_file: " It is a folder: list it.",
  not_a_directory: " It is a file: read it.",
  read_only: " This workspace can only be read.",
};

interface Page {
  readonly offset: number;
  readonly limits: Limits;
  readonly what: string;
  /** The answer where there is nothing at all. */
  readonly none: string;
}

function page(all: readonly string[], { offset, limits, what, none }: Page): string | ToolReturn<never> {
  if (all.length === 0) return none;
  if (offset >= all.length) return toolError(`There are only ${all.length} ${what}: the offset must be below that.`);
  const { shown, count } = fitting(all.slice(offset), limits);
  const left = all.length - offset - count;
  return left > 0 ? `${shown}\n(${left} more ${what}; go on with offset ${offset + count})` : shown;
}

/**
 * Joins as many entries as one answer takes, one a line, and at least one. An entry that is too long by itself is cut.
 */
function fitting(
  all: readonly string[],
  { maxEntriesPerAnswer, maxCharactersPerAnswer }: Limits,
  secrets?: UncutSecrets,
): { readonly shown: string; readonly count: number } {
  let shown = wholeLines(all[0] ?? "", maxCharactersPerAnswer, secrets).shown;
  let count = 1;
  for (const next of all.slice(1, maxEntriesPerAnswer)) {
    if (shown.length + 1 + next.length > maxCharactersPerAnswer) break;
    shown += `\n${next}`;
    count++;
  }
  return { shown, count };
}

/** A name that would look like two lines is shown as a JSON text. */
function named(path: string): string {
  return /[\r\n]/.test(path) ? JSON.stringify(path) : path;
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8; undefined for other bytes, because writing them back would change bytes beyond the edit. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return strictDecoder.decode(bytes);
  } catch {
    return undefined;
  }
}
