import {
  Filesystem,
  defineTool,
  toolError,
  toolOk,
  VisibilityExpansionRequired,
  type Prompt,
  type Tool,
  type ToolContext,
} from "@proviso/core";
import { z } from "zod";
import { revoked, trapped } from "./hostile.ts";
import { keyOf } from "./names.ts";
import { ledger, noted, unrecordable } from "./slices.ts";
import { asyncKey, freshKey, lazyKey, vaultKey } from "./vault.ts";
import type { World } from "./world.ts";

export const steps = ["note", "put", "write", "remove", "see", "sleep", "lazy", "async", "fresh"] as const;
export const ends = [
  "ok",
  "error",
  "throw",
  "throw text",
  "throw nothing",
  "throw odd",
  "hang",
  "honour",
  "function",
  "circular",
  "bigint",
  "map",
  "trap",
  "revoked",
  "throw revoked",
  "fault",
  "hidden",
  "slow",
  "late",
  "overstay",
  "refused",
  "open",
] as const;

const step = z.object({ do: z.enum(steps), n: z.number().int().min(0).max(9) });
const writing = z.object({ id: z.string(), steps: z.array(step).max(6).default([]), end: z.enum(ends).default("ok") });
const looking = z.object({
  ms: z.number().default(0),
  sly: z.boolean().default(false),
  inside: z.enum(["", "await", "swallow", "leave"]).default(""),
  end: z.enum(["ok", "throw"]),
});
const nesting = z.object({
  how: z.enum(["await", "both", "swallow", "leave"]).default("await"),
  fail: z.boolean().default(false),
  narrow: z.enum(["", "deadline", "budget", "turns"]).default(""),
});

type Step = z.infer<typeof step>;
type End = (typeof ends)[number];

/** Tools that do whatever tools do, and tell the model of what has to be what they did. */
export function randomTools(world: World, inner: () => Prompt, reading: () => Prompt): readonly Tool[] {
  const { clock, random } = world;
  const write = (name: string, timeoutMs: number | undefined): Tool =>
    defineTool({
      name,
      description: "Writes.",
      input: writing,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      async execute({ id, steps: wanted, end }, context): Promise<unknown> {
        started(world, context);
        for (const [index, one] of wanted.entries()) await take(world, context, `${id}-${index}`, one);
        return concluded(world, context, id, end);
      },
    }) as Tool;
  const look = (name: string, timeoutMs: number | undefined): Tool =>
    defineTool({
      name,
      description: "Looks.",
      input: looking,
      readOnly: true,
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      async execute({ ms, sly, inside, end }, context) {
        started(world, context);
        if (inside !== "") await lookInside(world, context, reading(), inside);
        if (ms > 0) await clock.sleep(ms);
        if (sly) context.session.dispatch(noted({ text: "sly" }));
        if (sly && random.chance(0.5)) await context.resources.get(Filesystem).write("sly.txt", "sly");
        if (end === "throw") throw new Error("it saw nothing");
        const { length } = context.session.get(ledger);
        world.finished.add(keyOf(context));
        return length;
      },
    }) as Tool;
  const nest = defineTool({
    name: "nest",
    description: "Evaluates inside.",
    input: nesting,
    async execute({ how, fail, narrow }, context) {
      started(world, context);
      await evaluateInside(world, context, inner(), how, narrow);
      if (fail) throw new Error("after the nested evaluation");
      world.finished.add(keyOf(context));
    },
  }) as Tool;
  return [write("write", 2_000), write("scrawl", undefined), look("look", undefined), look("peek", 400), nest];
}

function started({ book, executed, expected, limitsOf, signals }: World, context: ToolContext): void {
  const key = keyOf(context);
  signals.set(key, context.signal);
  book.demand(!executed.has(key), `THR-7 ${key} ran twice`);
  executed.add(key);
  const isOver = expected.isOver(context) || expected.isOrphaned(context.evaluationId);
  book.demand(!isOver, `LIM-2 the handler of ${key} begins although its call is over`);
  const passed = limitsOf(context.evaluationId).passed();
  book.demand(passed === undefined, `LIM-2 the handler of ${key} begins after ${passed}`);
}

async function take(world: World, context: ToolContext, text: string, { do: what, n }: Step): Promise<void> {
  const { book, clock, expected, files } = world;
  const { session, resources, signal } = context;
  const did = (deed: Parameters<typeof expected.did>[2]): void => void expected.did(session.id, keyOf(context), deed);
  const path = `d${n % 3}/f${n}.txt`;
  switch (what) {
    case "note":
      session.dispatch(noted({ text }));
      did({ kind: "entry", text });
      return;
    case "see":
      book.same(session.get(ledger), expected.now().of(session.id).ledger, "TX-6 what a handler sees of the session");
      return;
    case "put":
      await resources.get(vaultKey).put(text, signal, () => did({ kind: "put", text }));
      return;
    case "write": {
      const wrote = resources.get(Filesystem).write(path, text);
      did({ kind: "write", path, content: text });
      await wrote;
      const { text: content } = await resources.get(Filesystem).read(path);
      book.demand(content === text, `TX-6 a handler reads "${content}" of its "${text}"`);
      return;
    }
    case "remove": {
      const target = n < 2 ? `d${n}` : path;
      const there = await files.exists(target);
      const removed = resources.get(Filesystem).remove(target);
      if (there) did({ kind: "remove", path: target });
      await removed;
      return;
    }
    case "sleep":
      await clock.sleep(n * 60, n % 2 === 0 ? signal : undefined);
      return;
    case "lazy":
      book.demand(resources.get(lazyKey).closed === 0, "TX-4 a resource was closed before it was asked for");
      return;
    case "async":
      book.demand((await resources.open(asyncKey)).closed === 0, "TX-4 a resource was closed before it was asked for");
      return;
    case "fresh": {
      const thing = resources.get(freshKey);
      const owner = world.freshOf.get(thing.name);
      book.demand((owner ?? keyOf(context)) === keyOf(context), `TX-4 ${thing.name} is of another call, ${owner}`);
      world.freshOf.set(thing.name, keyOf(context));
      book.demand(thing.closed === 0, `TX-4 ${thing.name} is closed within its call`);
    }
  }
}

async function concluded(world: World, context: ToolContext, id: string, end: End): Promise<unknown> {
  const { clock, late, finished } = world;
  // From here on it may succeed.
  const done = <T>(value: T): T => {
    finished.add(keyOf(context));
    return value;
  };
  switch (end) {
    case "ok":
      return done({ id });
    case "hidden":
      return done(toolOk({ id }, { message: "Kept.", hideValue: true }));
    case "refused":
      return done(toolOk(id, { message: unrecordable }));
    case "bigint":
      return done({ id, much: 10n });
    case "error":
      return toolError("it failed");
    case "throw":
      throw new Error("it threw");
    case "throw text":
      throw "a text";
    case "throw nothing":
      throw undefined;
    case "throw odd":
      throw Object.create(null);
    case "open":
      throw new VisibilityExpansionRequired({ more: "full" }, "there is more");
    case "hang":
      return new Promise(() => {});
    case "honour":
      return new Promise((_, reject) => {
        if (context.signal.aborted) reject(context.signal.reason);
        context.signal.addEventListener("abort", () => reject(context.signal.reason));
      });
    case "function":
      return () => id;
    case "circular": {
      const circle: Record<string, unknown> = { id };
      circle["self"] = circle;
      return circle;
    }
    case "map":
      return { id, kept: new Map([[id, id]]) };
    case "trap":
      return trapped(id);
    case "revoked":
      return revoked();
    case "throw revoked":
      throw revoked();
    case "fault":
      return new Error("it is returned");
    case "slow":
      await clock.sleep(1_500);
      return done(id);
    case "late":
      late.push({ callId: keyOf(context), attempt: lateTries(world, context, id) });
      return done(id);
    case "overstay": {
      const attempt = lateTries(world, context, id);
      await clock.sleep(2_000 + world.random.int(600));
      if (world.expected.isOver(context)) world.book.same(await attempt(), [], `TX-3 after the call ${id} is over`);
      return done(id);
    }
  }
}

/** Neighbours may do the same. */
async function lookInside(
  world: World,
  context: ToolContext,
  prompt: Prompt,
  how: "await" | "swallow" | "leave",
): Promise<void> {
  world.crowd();
  await evaluateInside(world, context, prompt, how, "");
}

async function evaluateInside(
  { clock, narrowed, crowd, expected }: World,
  context: ToolContext,
  prompt: Prompt,
  how: z.infer<typeof nesting>["how"],
  narrow: z.infer<typeof nesting>["narrow"],
): Promise<void> {
  const limits = narrowed(context, narrow, how === "both" ? 2 : 1);
  const one = async (): Promise<unknown> => context.evaluate(prompt, limits);
  if (how === "await") await one();
  if (how === "both") crowd();
  if (how === "both") {
    await Promise.all([one(), one()]).catch((error: unknown) => {
      expected.leaves(context);
      throw error;
    });
  }
  if (how === "swallow") await one().catch(() => {});
  if (how === "leave") {
    one().catch(() => {});
    await clock.sleep(300);
  }
}

/** Everything that a call must not be able to do when it is over; tells what it could do all the same. */
function lateTries({ files }: World, context: ToolContext, id: string): () => Promise<readonly string[]> {
  const guarded = context.resources.get(Filesystem);
  return async () => {
    const done: string[] = [];
    const tries: Readonly<Record<string, () => unknown>> = {
      "a late dispatch": () => context.session.dispatch(noted({ text: `late ${id}` })),
      "a late look at the state": () => context.session.get(ledger),
      "a late look-up": () => context.resources.get(vaultKey),
      "a late opening": () => context.resources.open(asyncKey),
      "a late write": () => guarded.write(`late-${id}.txt`, "late"),
      "a late removal": () => guarded.remove("before.txt"),
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
    if (await files.exists(`late-${id}.txt`)) done.push("a late file");
    return done;
  };
}

async function moments(count: number): Promise<"waits"> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
  return "waits";
}
