import { deadlineIn, defineEvent, definePrompt, defineSection, defineSlice, defineTool, Filesystem, isEvaluationFailure, isEvent, provide, toolError } from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { openai } from "@proviso/adapter-openai";
import { z } from "zod";

const Note = z.object({ path: z.string(), note: z.string() });
const noteTaken = defineEvent("review.note-taken", Note);
const notes = defineSlice({
  name: "review.notes",
  schema: z.array(Note).readonly(),
  initial: [],
  reducers: ({ on }) => {
    on(noteTaken, (draft, { path, note }) => { draft.push({ path, note }); });
    on("tool.invoked", (draft, { result }) => { if (!result.success) draft.length = 0; });
  },
});

const readFile = defineTool({
  name: "read_file",
  description: "Read one file of the change under review.",
  input: z.object({ path: z.string().describe("relative to the root") }),
  readOnly: true,
  execute: async ({ path }, { resources }) => (await resources.get(Filesystem).read(path)).text,
});
const takeNote = defineTool({
  name: "take_note",
  description: "Keep a finding.",
  input: Note,
  async execute({ path, note }, { session, resources }) {
    session.dispatch(noteTaken({ path, note }));
    if (!(await resources.get(Filesystem).exists(path))) return toolError(`${path} does not exist`);
    return { noted: path };
  },
});

// for several prompts: it asks for the params that it reads, and brings its slice along
const strictness = defineSection({ params: z.object({ strict: z.boolean() }), key: "strict", title: "Strictness", text: "Be strict.", enabled: ({ strict }) => strict });
const guide = defineSection({ key: "guide", title: "Guide", text: "Review the change.", tools: [readFile, takeNote], slices: [notes] });

const review = definePrompt({
  ns: "examples",
  key: "code-review",
  params: z.object({ request: z.string(), strict: z.boolean().default(false) }),
  output: z.object({ summary: z.string(), issues: z.array(z.string()) }),
  sections: [guide, strictness, { key: "request", title: "Request", text: "{{request}}", role: "user" }],
});

const session = createSession();
session.on("tool.requested", ({ name }) => console.log(`${name}…`));
session.on(takeNote, ({ result }) => { if (result.success) console.log(result.value.noted); });
session.on(noteTaken, ({ note }) => console.log(note));
const adapter = openai({ model: "gpt-5.4" });
try {
  const { output, toolResults } = await adapter.evaluate(review.bind({ request: "Find bugs." }), {
    session,
    deadline: deadlineIn(30_000),
    budget: { maxTotalTokens: 20_000 },
    resources: [provide(Filesystem, memoryFilesystem({ "a.ts": "let x" }))],
  });
  const first: string | undefined = output.issues[0];
  console.log(first, session.get(notes).length, toolResults.filter((call) => isEvent(call, readFile)).length);
} catch (error) {
  if (!isEvaluationFailure(error)) throw error;
  console.log(error.code === "throttled" ? `ask again in ${error.retryAfterMs} ms` : error.code, error.usage.totalTokens);
}
// streamed
const stream = adapter.stream(review.bind({ request: "Find bugs." }));
for await (const event of stream) {
  if (event.type === "text.delta") process.stdout.write(event.text);
  if (event.type === "output.delta") console.log(event.partial.issues?.length);
}
const summary: string = (await stream.response).output.summary;
// text prompt
const hello = definePrompt({ ns: "a", key: "hello", params: z.object({ name: z.string() }), sections: [{ key: "h", text: "Say hello to {{name}}." }] });
const s: string = (await adapter.evaluate(hello.bind({ name: "Ada" }))).output;
// no params
const plain = definePrompt({ ns: "a", key: "plain", sections: [{ key: "h", text: "Say hello." }] });
plain.bind({});
// @ts-expect-error typo in a placeholder
definePrompt({ ns: "a", key: "t", params: z.object({ name: z.string() }), sections: [{ key: "h", text: "{{nmae}}" }] });
// @ts-expect-error typo in a property of a nested section
definePrompt({ ns: "a", key: "t", sections: [{ key: "h", children: [{ key: "c", txet: "x" }] }] });
// @ts-expect-error the shared section's param is missing
definePrompt({ ns: "a", key: "t", params: z.object({ request: z.string() }), sections: [strictness] });
// @ts-expect-error missing parameter
hello.bind({});
export { s, summary };
