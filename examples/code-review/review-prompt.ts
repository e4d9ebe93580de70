import {
  defineEvent,
  definePrompt,
  defineSection,
  defineSlice,
  defineTool,
  Filesystem,
  toolError,
} from "@proviso/core";
import { z } from "zod";

const Note = z.object({ path: z.string(), note: z.string() });
const noteTaken = defineEvent("review.note-taken", Note);

/** What the reviewer wants to remember; a failed note leaves nothing here. */
export const notes = defineSlice({
  name: "review.notes",
  schema: z.array(Note).readonly(),
  initial: [],
  reducers: ({ on }) => on(noteTaken, (draft, { path, note }) => void draft.push({ path, note })),
});

const listFiles = defineTool({
  name: "list_files",
  description: "List the files of the folder under review.",
  input: z.object({}),
  readOnly: true,
  async execute(_input, { resources, signal }) {
    const files = resources.get(Filesystem);
    const paths = await listSources(files, await files.list(), "", signal);
    const shown = paths.slice(0, mostListed);
    return { files: shown, notShown: paths.length - shown.length };
  },
});

type Entries = Awaited<ReturnType<Filesystem["list"]>>;

/** What is not anybody's source is not even walked through. */
async function listSources(
  files: Filesystem,
  entries: Entries,
  folder: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { name, kind } of entries) {
    signal.throwIfAborted();
    const path = `${folder}${name}`;
    if (kind === "file" && !ignoredFiles.test(name)) found.push(path);
    if (kind === "file" || ignoredFolders.has(name)) continue;
    // A folder that may not be opened hides its files, not those beside it.
    const inner = await files.list(path).catch(() => []);
    found.push(...(await listSources(files, inner, `${path}/`, signal)));
  }
  return found;
}

const ignoredFolders = new Set(
  "node_modules dist .git .hg .svn .venv .tsc .cache __pycache__ target coverage".split(" "),
);
const ignoredFiles = /\.(png|jpe?g|gif|ico|webp|pdf|woff2?|zip|gz|xz|tgz|jar|class|pyc|so|a|o|exe|dll|wasm|lock|map)$/i;
const mostListed = 500;
const maxLinesPerPage = 1_000;
const charactersAPage = 40_000;

const readFile = defineTool({
  name: "read_file",
  description: `Read one file, at most ${maxLinesPerPage} lines at a time; the first line of the answer tells which.`,
  input: z.object({
    path: z.string().describe("relative to the folder"),
    fromLine: z.number().int().positive().default(1).describe("from 1"),
  }),
  readOnly: true,
  async execute({ path, fromLine }, { resources }) {
    const { text, totalLines } = await resources
      .get(Filesystem)
      .read(path, { offset: fromLine - 1, limit: maxLinesPerPage });
    if (text.includes("\0")) return toolError(`${path} is not text.`);
    if (fromLine > Math.max(1, totalLines)) return toolError(`${path} ends at line ${totalLines}.`);
    const page = firstPage(text);
    const toLine = Math.min(totalLines, fromLine + page.split("\n").length - 1);
    return `lines ${fromLine}-${toLine} of ${totalLines}\n${page}`;
  },
});

/** Whole lines, and of a line that is a page of its own its beginning. */
function firstPage(text: string): string {
  if (text.length <= charactersAPage) return text;
  const end = text.lastIndexOf("\n", charactersAPage);
  return end > 0 ? text.slice(0, end) : `${text.slice(0, charactersAPage)}…`;
}

const takeNote = defineTool({
  name: "take_note",
  description: "Keep a note on a file of the folder.",
  input: Note,
  // It changes the session alone: where its process ended in the middle, it is run again.
  transactional: true,
  async execute({ path, note }, { session, resources }) {
    session.dispatch(noteTaken({ path, note }));
    if (!(await resources.get(Filesystem).exists(path))) return toolError(`${path} does not exist; nothing was noted.`);
    return { noted: path };
  },
});

const guide = defineSection({
  key: "guide",
  title: "Guide",
  text:
    "You review the code of a folder. List its files, read those that matter, and keep a note on each that needs work. " +
    "Report only what you saw in a file, with the line it is on.",
  tools: [listFiles, readFile, takeNote],
  slices: [notes],
});

const Issue = z.object({
  path: z.string(),
  line: z.number().int().positive(),
  severity: z.enum(["low", "medium", "high"]),
  message: z.string(),
});

export const review = definePrompt({
  ns: "examples",
  key: "code-review",
  params: z.object({ request: z.string() }),
  output: z.object({ summary: z.string(), issues: z.array(Issue), nextSteps: z.array(z.string()) }),
  sections: [guide, { key: "request", title: "Request", text: "{{request}}", role: "user" }],
});
