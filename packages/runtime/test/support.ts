import { defineEvent, definePrompt, defineSlice, defineTool, Filesystem, toolError, type Tool } from "@proviso/core";
import { z } from "zod";

/** Everything an evaluation rejects with, to look at its fields. */
export async function rejection(promise: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  return promise.then(
    () => {
      throw new Error("It did not reject.");
    },
    (error: unknown) => error as Error & Record<string, unknown>,
  );
}

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** Writes to the session and the filesystem, then does as it was told. */
export const writes = defineTool({
  name: "write",
  description: "Writes.",
  input: z.object({ text: z.string(), outcome: z.enum(["succeed", "fail", "throw", "hang"]).default("succeed") }),
  async execute({ text, outcome }, { session, resources, signal: _ }) {
    session.dispatch(noted({ text }));
    await resources.get(Filesystem).write(`${text}.txt`, text);
    if (outcome === "fail") return toolError("it failed");
    if (outcome === "throw") throw new Error("it threw");
    if (outcome === "hang") await new Promise(() => {});
    return `wrote ${text}`;
  },
});

export function promptWith(...tools: readonly Tool[]) {
  return definePrompt({
    ns: "tests",
    key: "prompt",
    sections: [
      { key: "guide", text: "Work.", tools, slices: [notes] },
      { key: "request", text: "Begin.", role: "user" },
    ],
  }).bind({});
}

export const call = (name: string, given: object | string = {}, id?: string) => ({ name, arguments: given, id });
export const writing = (text: string, outcome?: string) =>
  call("write", outcome === undefined ? { text } : { text, outcome });
