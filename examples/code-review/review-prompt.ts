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
  description: "List the files of the folder under review, with their sizes in bytes.",
  input: z.object({}),
  readOnly: true,
  async execute(_input, { resources }) {
    const files = resources.get(Filesystem);
    const paths = (await files.glob("**")).filter((path) => !ignored.test(path));
    const shown = paths.slice(0, mostListed);
    return { files: shown, notShown: paths.length - shown.length };
  },
});

/** What is not anybody's source. */
const ignored =
  /(^|\/)(node_modules|dist|\.git|\.venv|target|coverage)\/|\.(png|jpe?g|gif|ico|woff2?|zip|gz|lock|map)$/i;
const mostListed = 500;
const linesAPage = 1_000;

const readFile = defineTool({
  name: "read_file",
  description: `Read one file, ${linesAPage} lines at a time; fromLine starts at 1.`,
  input: z.object({
    path: z.string().describe("relative to the folder"),
    fromLine: z.number().int().positive().default(1),
  }),
  readOnly: true,
  async execute({ path, fromLine }, { resources }) {
    const { text, totalLines, truncated } = await resources
      .get(Filesystem)
      .read(path, { offset: fromLine - 1, limit: linesAPage });
    const more = truncated ? `\n[… ${totalLines} lines in all; go on with fromLine ${fromLine + linesAPage}]` : "";
    return `${text}${more}`;
  },
});

const takeNote = defineTool({
  name: "take_note",
  description: "Keep a note on a file of the folder.",
  input: Note,
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
