// The prompt of a recorded evaluation: tools that change, read, evaluate, fail, make files, wait, and open sections.
import {
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  Filesystem,
  suspend,
  toolOk,
  type Section,
  type Tool,
  type ToolContext,
  type ToolPolicy,
} from "@proviso/core";
import { testImage } from "@proviso/runtime/testing";
import { z } from "zod";
import { secret, type Shape } from "./shape.ts";

export const noted = defineEvent("noted", z.object({ text: z.string() }));

/** What was noted, and what the model's calls came to. */
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on("tool.invoked", (draft, { name, callId }) => void draft.push(`${name} ${callId} ended`));
  },
});

/** What was done is in it, also where that was undone. */
const log = defineSlice({
  name: "log",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => draft.push(`noted ${text}`));
    on("tool.requested", (draft, { name }) => draft.push(`asked ${name}`));
    on("tool.invoked", (draft, { name, result }) => draft.push(`ended ${name} ${result.success}`));
  },
});

const input = z.object({ n: z.number() });
const counting = /** @__PURE__ */ { name: (n: number): string => `f${n % 6}.txt` };

interface Done {
  /** Handlers that began, in order, by their keys. */
  readonly done: string[];
}

/** A tool that says when its handler begins. */
function tool(
  { done }: Done,
  name: string,
  more: Partial<Pick<Tool, "readOnly" | "idempotent" | "transactional" | "timeoutMs">>,
  execute: (n: number, context: ToolContext) => unknown,
): Tool {
  return defineTool({
    name,
    description: `Does ${name}.`,
    input,
    ...more,
    execute({ n }, context) {
      done.push(`${name} ${context.idempotencyKey}`);
      return execute(n, context);
    },
  }) as Tool;
}

async function write(n: number, { session, resources, progress }: ToolContext): Promise<unknown> {
  const files = resources.get(Filesystem);
  progress({ done: 1, message: "half" });
  session.dispatch(noted({ text: `wrote ${n}` }));
  await files.write(counting.name(n), `${n} of ${(await files.glob("**")).length}`);
  if (n % 3 === 0) session.dispatch(noted({ text: `and ${n}` }));
  return n;
}

async function fail(n: number, { session, resources }: ToolContext): Promise<never> {
  session.dispatch(noted({ text: `never ${n}` }));
  await resources.get(Filesystem).write("never.txt", "never");
  throw new Error(`It failed ${n}.`);
}

async function read(n: number, { resources }: ToolContext): Promise<unknown> {
  const files = resources.get(Filesystem);
  const names = (await files.glob("**")).toSorted();
  const name = counting.name(n);
  return { names, text: names.includes(name) ? (await files.read(name)).text : null };
}

const picture = (n: number): unknown =>
  toolOk(n, { files: [testImage({ width: 8 + (n % 5), height: 6, name: `p${n % 3}.png` })] });

/** The tools of the prompt; those of evaluations inside are the first ones. */
function toolsOf(shape: Shape, of: Done): readonly Tool[] {
  const inside = [
    tool(of, "write", { transactional: true }, write),
    tool(of, "read", { readOnly: true }, read),
    tool(of, "fail", {}, fail),
  ];
  const delving = definePrompt({
    ns: "runs",
    key: "delving",
    params: input,
    slices: [notes, log],
    sections: [{ key: "task", text: "Delve {{n}}.", tools: inside }],
  });
  const slow = (n: number, { signal }: ToolContext): unknown =>
    n % 2 === 0 ? n : new Promise((resolve) => signal.addEventListener("abort", () => resolve(n)));
  return [
    ...inside,
    tool(of, "count", { idempotent: true }, (_, { session }) => session.get(notes).length),
    tool(of, "look", { readOnly: true }, async (n, { evaluate }) => {
      const seen = (await evaluate(`Look at ${n % 3}.`)).text;
      return n % 4 === 0 ? [seen, (await evaluate(`Look again at ${n % 3}.`)).text] : seen;
    }),
    tool(of, "delve", { transactional: true }, async (n, { evaluate, session }) => {
      session.dispatch(noted({ text: `delves ${n}` }));
      const { text } = await evaluate(delving.bind({ n }));
      if (n % 7 === 6) throw new Error(`Too deep: ${text}`);
      return text;
    }),
    tool(of, "picture", { readOnly: true }, picture),
    tool(of, "slow", { timeoutMs: 3 }, slow),
    tool(of, "ask", { idempotent: true }, (n) => `asked ${n}`),
    tool(of, "hidden", {}, (n) => (shape.hasSecret ? `${secret} ${n}` : n)),
  ];
}

const textOf = (given: unknown): string => JSON.stringify(given);

function policiesOf({ policies: { denies, changes, approves } }: Shape): readonly ToolPolicy[] {
  const watched = new Set(["write", "read", "ask"]);
  const of = (is: boolean, policy: ToolPolicy): readonly ToolPolicy[] => (is ? [policy] : []);
  const numberIn = (given: unknown): number => (given as { readonly n: number }).n;
  return [
    definePolicy({
      name: "later",
      check: (call) => (call.tool.name === "ask" ? suspend("May it?", { details: call.input }) : { allowed: true }),
    }),
    ...of(denies, {
      name: "no",
      check: ({ tool: { name }, input: given }) =>
        watched.has(name) && numberIn(given) % 4 === 1
          ? { allowed: false, reason: `Not ${textOf(given)}.` }
          : { allowed: true },
    }),
    ...of(changes, {
      name: "change",
      check: ({ tool: { name }, input: given }) =>
        name === "write" ? { allowed: true, input: { n: numberIn(given) + 100 } } : { allowed: true },
    }),
    ...of(approves, {
      name: "approve",
      approve: async ({ tool: { name }, input: given }) =>
        name === "write" && numberIn(given) % 4 === 2 ? { allowed: false, reason: "Not approved." } : { allowed: true },
    } as ToolPolicy),
  ];
}

/** A template's texts depend on the shape alone, and so does what its handlers do. */
export function templateOf(shape: Shape, of: Done) {
  const tools = toolsOf(shape, of);
  const more: Section<{ file: File | undefined }> = {
    key: "more",
    title: "More",
    text: "There is more to know.",
    summary: "More.",
    visibility: shape.isSummarised ? "summary" : "full",
    tools: [tool(of, "extra", { readOnly: true }, (n) => n * 2)],
  };
  let missed = 0;
  return definePrompt({
    ns: "runs",
    key: "random",
    params: z.object({ file: z.file().optional() }),
    slices: [notes, log],
    ...(shape.output === "object" ? { output: z.object({ mark: z.string(), ok: z.boolean() }) } : {}),
    sections: [
      { key: "task", text: "Do something.", tools },
      more,
      {
        key: "file",
        role: "user",
        text: "Here: {{file}}",
        enabled: ({ file }: { file?: File | undefined }) => file !== undefined,
      },
      { key: "go", role: "user", text: "Go." },
    ] as never,
    policies: policiesOf(shape),
    feedback:
      shape.feedbackEvery === undefined
        ? []
        : [
            {
              name: "reminder",
              every: { calls: shape.feedbackEvery },
              provide: ({ session }) => `So far ${session.get(notes).length}.`,
            },
          ],
    ...(shape.misses === 0
      ? {}
      : {
          completion: {
            name: "missing",
            check: () => (missed++ < shape.misses ? `Part ${missed} is missing.` : undefined),
          },
        }),
  });
}
