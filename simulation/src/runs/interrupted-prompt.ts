// The prompts of an interrupted run, and its model, which answers by the history alone: any process gets the same.
import {
  allow,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  Filesystem,
  suspend,
  toolError,
  toolOk,
  type Message,
  type ModelProvider,
  type Prompt,
  type Tool,
  type ToolContext,
  type ToolPolicy,
} from "@proviso/core";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { z } from "zod";
import {
  insideKinds,
  kindNames,
  kinds,
  type InterruptedShape,
  type Kind,
  type KindName,
  type RandomCall,
} from "./interrupted-shape.ts";
import { noted } from "./prompt.ts";

/** What calls noted. */
export const notes = defineSlice({
  name: "noted",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** What handlers did in all attempts: it outlives every process. */
export interface Deeds {
  /** The attempts in which the handler of a key began. */
  readonly begun: Map<string, { readonly at: string; readonly kind: KindName; readonly attempt: number }[]>;
  /** The keys whose effect is there. */
  readonly done: Set<string>;
  /** Who was asked about calls that may have been done, by key: the attempts. */
  readonly asked: Map<string, number[]>;
  /** What requests showed that they may not. */
  readonly wrong: string[];
}

export const newDeeds = (): Deeds => ({ begun: new Map(), done: new Set(), asked: new Map(), wrong: [] });

/** One attempt, as prompt and model see it. */
export interface Attempt {
  readonly number: number;
  /** Something happens, and so many milliseconds pass; never resolves where the process has ended. */
  step(ms: number): Promise<void>;
}

interface Process {
  readonly shape: InterruptedShape;
  readonly deeds: Deeds;
  readonly attempt: Attempt;
}

const input = z.object({ at: z.string() });

/** The call at a place: "turn/call", or "turn/call/call inside". */
export function callAt({ turns }: InterruptedShape, at: string): RandomCall {
  const [turn = 0, call = 0, inside] = at.split("/").map(Number);
  const found = turns[turn]?.[call];
  return (inside === undefined ? found : found?.inside[inside]) as RandomCall;
}

const addTo = <T>(map: Map<string, T[]>, key: string, value: T): void =>
  void map.set(key, [...(map.get(key) ?? []), value]);

async function handled(of: Process, at: string, context: ToolContext): Promise<unknown> {
  const { shape, deeds, attempt } = of;
  const { kind, before, after, fate } = callAt(shape, at);
  const does: Kind = kinds[kind];
  const key = context.idempotencyKey;
  addTo(deeds.begun, key, { at, kind, attempt: attempt.number });
  for (let ms = 0; ms < before; ms++) await attempt.step(1);
  deeds.done.add(key);
  if (does.notes === true) context.session.dispatch(noted({ text: at }));
  if (does.writes === true) await context.resources.get(Filesystem).write(at.replaceAll("/", "-"), `of ${at}`);
  const said = does.evaluates === true ? (await context.evaluate(insidePrompt(of, at))).text : "";
  for (let ms = 0; ms < after; ms++) await attempt.step(1);
  if (fate === "throws") throw new Error(`failed ${at}`);
  return fate === "fails" ? toolError(`error ${at}`) : `ok ${at} ${said}`;
}

async function reconciled({ shape, deeds, attempt }: Process, { idempotencyKey: key }: ToolContext): Promise<never> {
  addTo(deeds.asked, key, attempt.number);
  await attempt.step(1);
  const { reconciles } = shape;
  if (reconciles === "throws") throw new Error("It cannot be known.");
  if (reconciles !== "unknown" && !deeds.done.has(key)) return "not-started" as never;
  return (reconciles === "result" ? toolOk("ok, it says") : "unknown") as never;
}

function toolOf(of: Process, name: KindName): Tool {
  const { readOnly, idempotent, transactional, overlaps, reconciles }: Kind = kinds[name];
  return defineTool({
    name,
    description: `Does ${name}.`,
    input,
    ...(readOnly && { readOnly }),
    ...(idempotent && { idempotent }),
    ...(transactional && { transactional }),
    ...(overlaps && { uses: [] }),
    ...(reconciles && { reconcile: (_: unknown, context: ToolContext) => reconciled(of, context) }),
    execute: ({ at }, context) => handled(of, at, context),
  }) as Tool;
}

/** Suspends what waits; what may have been done is decided as the shape has it. */
function policiesOf({ shape, deeds, attempt }: Process, tools: readonly Tool[]): readonly ToolPolicy[] {
  const waiting = tools.filter(({ name }) => (kinds[name as KindName] as Kind).waits === true);
  const waits = definePolicy({
    name: "waits",
    tools: waiting as never,
    uses: [],
    check: ({ input: given }) => suspend(`May ${(given as { at: string }).at} be?`),
  });
  const { unknown } = shape;
  if (unknown === undefined) return [waits];
  const asked = definePolicy({
    name: "asked",
    uses: [],
    async unknown(_, { idempotencyKey }) {
      await attempt.step(1);
      addTo(deeds.asked, idempotencyKey, attempt.number);
      return unknown === "allow" ? allow() : unknown === "deny" ? deny("It is left.") : suspend("Was it done?");
    },
  });
  return [waits, asked];
}

function insidePrompt(of: Process, at: string): Prompt<string> {
  const tools = insideKinds.map((name) => toolOf(of, name));
  return definePrompt({
    ns: "runs",
    key: "inside",
    slices: [notes],
    sections: [{ key: "task", text: `Inside ${at}.`, tools }],
    policies: policiesOf({ ...of, shape: { ...of.shape, unknown: undefined } }, tools),
  }).bind() as Prompt<string>;
}

export function interruptedPrompt(of: Process): Prompt<string> {
  const tools = kindNames.map((name) => toolOf(of, name));
  return definePrompt({
    ns: "runs",
    key: "interrupted",
    slices: [notes],
    sections: [{ key: "task", text: "Outside.", tools }],
    policies: policiesOf(of, tools),
  }).bind() as Prompt<string>;
}

/** Each call of a history has one answer. */
function answeredOnce(messages: readonly Message[]): boolean {
  const open = new Set<string>();
  for (const message of messages) {
    if (message.role === "tool" && !open.delete(message.callId)) return false;
    if (message.role !== "assistant") continue;
    if (open.size > 0) return false;
    for (const { id } of message.toolCalls) open.add(id);
  }
  return open.size === 0;
}

function answerTo({ turns }: InterruptedShape, messages: readonly Message[]): ScriptedStep {
  const around = messages.map(({ text }) => /^Inside ([\d/]+)\./m.exec(text)?.[1]).find((at) => at !== undefined);
  const turn = messages.filter(({ role }) => role === "assistant").length;
  const [own, call] = (around ?? "").split("/").map(Number) as [number, number];
  const inside = turn === 0 ? (turns[own]?.[call]?.inside ?? []) : [];
  const calls = around === undefined ? (turns[turn] ?? []) : inside;
  const place = around === undefined ? String(turn) : around;
  if (calls.length > 0) {
    return { toolCalls: calls.map(({ kind }, n) => ({ id: `c${n}`, name: kind, arguments: { at: `${place}/${n}` } })) };
  }
  if (around !== undefined) return { text: `seen ${around}` };
  return { text: messages.flatMap(({ role, text }) => (role === "tool" ? [text] : [])).join(" | ") };
}

/** The model of one attempt. */
export function interruptedModel({ shape, deeds, attempt }: Process): ModelProvider {
  return {
    ...scriptedModel([]),
    async generate(request) {
      await attempt.step(1);
      if (!answeredOnce(request.messages)) deeds.wrong.push("a call has not one answer");
      return scriptedModel([answerTo(shape, request.messages)]).generate(request);
    },
  };
}
