import {
  defineEvent,
  definePrompt,
  defineSection,
  defineSlice,
  defineTool,
  type SessionEvent,
  type Session,
} from "@proviso/core";
import type { ScriptedStep } from "@proviso/runtime/testing";
import { z } from "zod";

/** What the tools below did to the world, in order. */
export interface World {
  readonly done: string[];
}

export const noted = defineEvent("noted", z.object({ text: z.string() }));

/** What was noted, and what the model's calls came to. */
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on("tool.requested", (draft, { name }) => void draft.push(`asked ${name}`));
    on("tool.invoked", (draft, { name }) => void draft.push(`ended ${name}`));
  },
});

/** A log of the same: what is undone stays in it. */
const log = defineSlice({
  name: "log",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on("tool.requested", (draft, { name }) => draft.push(`asked ${name}`));
    on("tool.invoked", (draft, { name, result }) => draft.push(`ended ${name} ${result.success}`));
  },
});

/** A prompt whose tools take notes, fail, look, and evaluate. */
export function reviewPrompt(world: World, text = "Review {{file}}.") {
  const note = defineTool({
    name: "note",
    description: "Takes a note.",
    input: z.object({ text: z.string() }),
    execute({ text: said }, { session, idempotencyKey }) {
      world.done.push(`${said} ${idempotencyKey}`);
      session.dispatch(noted({ text: said }));
      return said.length;
    },
  });
  const fail = defineTool({
    name: "fail",
    description: "Fails.",
    input: z.object({}),
    execute(_input, { session }) {
      session.dispatch(noted({ text: "never" }));
      throw new Error("It failed.");
    },
  });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ at: z.string() }),
    readOnly: true,
    async execute({ at }, { evaluate }) {
      const { output } = await evaluate(`Look at ${at}.`);
      return output;
    },
  });
  return definePrompt({
    ns: "test",
    key: "review",
    params: z.object({ file: z.string() }),
    slices: [notes, log],
    sections: [defineSection({ key: "task", text, tools: [note, fail, look] })],
  }).bind({ file: "a.ts" });
}

/** Two turns of calls, an unknown tool, readers that evaluate, an answer. */
export const script: readonly ScriptedStep[] = [
  {
    text: "First.",
    toolCalls: [
      { id: "c1", name: "note", arguments: { text: "one" } },
      { id: "c2", name: "fail", arguments: {} },
      { id: "c3", name: "nothing", arguments: {} },
    ],
  },
  { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 5 },
  {
    toolCalls: [
      { id: "c1", name: "look", arguments: { at: "a" } },
      { id: "c2", name: "look", arguments: { at: "b" } },
      { name: "note", arguments: { text: "two" } },
    ],
  },
  (request) => ({ text: `Seen ${request.messages.at(-1)?.text}` }),
  (request) => ({ text: `Seen ${request.messages.at(-1)?.text}` }),
  { text: "Done." },
];

/** All events of a session from now on. */
export function heard(session: Session): SessionEvent[] {
  const events: SessionEvent[] = [];
  session.on("*", (event) => void events.push(event));
  return events;
}
