import {
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  allow,
  Filesystem,
  resourceKey,
  toolError,
  toolOk,
  type Snapshotable,
  type ToolContext,
} from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { z } from "zod";
import type { Book } from "./checks.ts";
import type { Random } from "./random.ts";

/** A resource of somebody else's, in its own time. */
export class Vault implements Snapshotable<readonly string[]> {
  entries: readonly string[] = [];
  async put(entry: string): Promise<void> {
    await Promise.resolve();
    this.entries = [...this.entries, entry];
  }
  async snapshot(): Promise<readonly string[]> {
    await Promise.resolve();
    return this.entries;
  }
  async restore(entries: readonly string[]): Promise<void> {
    await Promise.resolve();
    this.entries = entries;
  }
}
export const vaultKey = resourceKey<Vault>("Vault");

export const noted = defineEvent("noted", z.object({ text: z.string() }));
export const ledger = defineSlice({
  name: "ledger",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
/** Kept whatever happens. */
export const journal = defineSlice({
  name: "journal",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
/** Calls that succeeded, kept whatever happens. */
export const successes = defineSlice({
  name: "successes",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) =>
    on("tool.invoked", (draft, { evaluationId, callId, result }) => {
      if (result.success) draft.push(`${evaluationId} ${callId}`);
    }),
});
/** A reducer that refuses some recordings. */
const recorder = defineSlice({
  name: "recorder",
  initial: 0,
  reducers: ({ on }) =>
    on("tool.invoked", (count, { result }) => {
      if (result.success && result.message === "unrecordable") throw new Error("the recorder refuses");
      return count + 1;
    }),
});

export const ends = [
  "ok",
  "error",
  "throw",
  "throw text",
  "hang",
  "honour",
  "not JSON",
  "slow",
  "late",
  "refused",
] as const;
const input = z.object({ id: z.string(), writes: z.number().int().min(0).max(3), end: z.enum(ends) });
export type WriteInput = z.infer<typeof input>;

/** Late tries of calls that are over, to be made when time has passed. */
export interface Late {
  readonly callId: string;
  attempt(): Promise<readonly string[]>;
}

export type World = ReturnType<typeof createWorld>;

/** Everything that evaluations work on, and the tools that do. */
export function createWorld(seed: number, random: Random, book: Book) {
  const environment = fakeEnvironment(seed);
  const { clock } = environment;
  const session = createSession({ slices: [ledger, journal, successes, recorder], id: `session-${seed}` });
  // Listeners that veto a recording, or fail when everything is over.
  session.on("tool.invoked", ({ result }) => {
    if (result.success && random.chance(0.04)) throw new Error("vetoed");
  });
  session.on("prompt.executed", () => {
    if (random.chance(0.02)) throw new Error("the listener failed");
  });
  const files = memoryFilesystem({ "before.txt": "before" });
  const vault = new Vault();
  const late: Late[] = [];
  const executed = new Map<string, number>();
  let dispatched = 0;

  const write = async (context: ToolContext, entry: string): Promise<void> => {
    context.session.dispatch(noted({ text: entry }));
    dispatched += 1;
    await context.resources.get(Filesystem).write(`${entry}.txt`, entry);
    await context.resources.get(vaultKey).put(entry);
  };
  const started = (context: ToolContext): void => {
    const key = `${context.evaluationId} ${context.callId}`;
    executed.set(key, (executed.get(key) ?? 0) + 1);
    book.demand(executed.get(key) === 1, `THR-7 ${key} ran twice`);
  };
  const writing = defineTool({
    name: "write",
    description: "Writes.",
    input,
    timeoutMs: 2_000,
    async execute({ id, writes, end }, context): Promise<unknown> {
      started(context);
      for (let i = 0; i < writes; i++) await write(context, `${id}-${i}`);
      switch (end) {
        case "ok":
          return { id };
        case "refused":
          return toolOk(id, { message: "unrecordable" });
        case "error":
          return toolError("it failed");
        case "throw":
          throw new Error("it threw");
        case "throw text":
          throw "a text";
        case "hang":
          return new Promise(() => {});
        case "honour":
          return new Promise((_, reject) =>
            context.signal.addEventListener("abort", () => reject(context.signal.reason)),
          );
        case "not JSON":
          return () => id;
        case "slow":
          await clock.sleep(1_500);
          return id;
        case "late":
          late.push(lateTries(context, id));
          return id;
      }
    },
  });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ ms: z.number(), sly: z.boolean().default(false) }),
    readOnly: true,
    async execute({ ms, sly }, context) {
      started(context);
      if (ms > 0) await clock.sleep(ms);
      if (sly) context.session.dispatch(noted({ text: "sly" }));
      return context.session.get(ledger).length;
    },
  });
  const nest = defineTool({
    name: "nest",
    description: "Evaluates inside.",
    input: z.object({ fail: z.boolean() }),
    async execute({ fail }, context) {
      started(context);
      await context.evaluate(inner);
      if (fail) throw new Error("after the nested evaluation");
    },
  });
  const policy = definePolicy({
    name: "chance",
    check: () => (random.chance(0.08) ? deny("not now") : allow()),
  });
  const section = {
    key: "work",
    title: "Work",
    text: "Work.",
    slices: [ledger, journal, successes, recorder],
  } as const;
  const inner = definePrompt({ ns: "sim", key: "inner", sections: [{ ...section, tools: [writing, look] }] }).bind();
  const outer = definePrompt({
    ns: "sim",
    key: "outer",
    sections: [
      { ...section, tools: [writing, look, nest], policies: [policy] },
      { key: "ask", text: "Begin.", role: "user" },
    ],
  }).bind();
  return { environment, clock, session, files, vault, late, outer, dispatched: () => dispatched };
}

async function moments(count: number): Promise<"waits"> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  return "waits";
}

/** Everything that a call must not be able to do when it is over; what it could do all the same. */
function lateTries(context: ToolContext, id: string): Late {
  const files = context.resources.get(Filesystem);
  return {
    callId: context.callId,
    async attempt() {
      const done: string[] = [];
      const tries: Readonly<Record<string, () => unknown>> = {
        "a late dispatch": () => context.session.dispatch(noted({ text: `late ${id}` })),
        "a late look-up": () => context.resources.get(vaultKey),
        "a late write": () => files.write(`late-${id}.txt`, "late"),
        "a late evaluation": () => context.evaluate(context.prompt),
      };
      for (const [what, attempt] of Object.entries(tries)) {
        const outcome = Promise.resolve()
          .then(attempt)
          .then(
            () => "done",
            () => "refused",
          );
        // What is not refused at once was begun.
        if ((await Promise.race([outcome, moments(5)])) !== "refused") done.push(what);
      }
      return done;
    },
  };
}
