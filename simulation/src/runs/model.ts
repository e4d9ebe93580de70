// The model of a recorded evaluation. It answers by the history alone, so that any process gets the same answers.
import { definePrompt, type Message, type ModelFailure, type ModelRequest, type ProviderAdapter } from "@proviso/core";
import { modelAdapter, type Environment } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { z } from "zod";
import { secret, type RandomRefusal, type RandomTurn, type Shape } from "./shape.ts";

const files = { types: ["image/*"], from: ["stored"], inToolResults: ["image/*"], inAnswers: ["image/*"] } as const;

const madeFiles = [testImage({ width: 21, height: 4 }), testImage({ width: 22, height: 4 })];
const made: readonly Uint8Array[] = await Promise.all(
  madeFiles.map(async (file) => new Uint8Array(await file.arrayBuffer())),
);

/** How many answers of the model the history shows: each carries its number, whatever was shortened or summarised. */
function turnIn(messages: readonly Message[]): number {
  const seen = messages.flatMap(({ role, text }) => (role === "assistant" ? [...text.matchAll(/#(\d+)#/g)] : []));
  return seen.reduce((last, [, number]) => Math.max(last, Number(number) + 1), 0);
}

function refused(refusal: RandomRefusal): ScriptedStep {
  if (refusal === "thrown") return { error: new Error("The line is dead.") };
  if (refusal === "not_found") return { failure: "provider", reason: "not_found", message: "No such model." };
  const failure: ModelFailure = {
    failure: "throttle",
    kind: refusal,
    message: "Later.",
    ...(refusal === "rate_limit" ? { retryAfterMs: 3 } : {}),
  };
  return failure;
}

/** The text that evaluations inside calls, and summaries, are asked with. */
function insideAnswer(messages: readonly Message[]): ScriptedStep | undefined {
  const last = messages.at(-1)?.text ?? "";
  if (last.startsWith("Look")) return { text: `Seen ${last}` };
  if (messages.some(({ text }) => text.startsWith("Summarise"))) return { text: `Summary of ${last.length}.` };
  const delving = messages.map(({ text }) => /^Delve (\d+)\./.exec(text)?.[1]).find((n) => n !== undefined);
  if (delving === undefined) return undefined;
  const n = Number(delving);
  if (messages.some(({ role }) => role === "assistant")) return { text: `Found ${n}.` };
  const names = [["write"], ["write", "read"], ["fail", "write"], ["read", "read"]][n % 4] as readonly string[];
  return { text: "", toolCalls: names.map((name, place) => ({ name, arguments: { n: n + place }, id: `d${place}` })) };
}

function callsOf(
  { calls }: RandomTurn,
  turn: number,
  { hasSecret }: Shape,
): NonNullable<Exclude<ScriptedStep, Function | ModelFailure | { error: Error }>["toolCalls"]> {
  return calls.map(({ kind, id }, place) => {
    const n = turn * 5 + place;
    const given =
      kind === "wrong"
        ? { m: 1 }
        : kind === "broken"
          ? "{"
          : kind === "open_sections"
            ? { keys: ["more"], reason: "I need it." }
            : kind === "hidden" && hasSecret
              ? { n, s: secret }
              : { n };
    const name = kind === "wrong" || kind === "broken" ? "write" : kind;
    return { name, arguments: given, ...(id === undefined ? {} : { id }) };
  });
}

/** Answers as the shape has it. `member`: the place in a chain. */
function answering(shape: Shape, member: number): ScriptedStep {
  const failed = new Map<number, number>();
  return (({ messages }: ModelRequest): ScriptedStep => {
    const inside = insideAnswer(messages);
    if (inside !== undefined) return inside;
    const number = turnIn(messages);
    const turn = shape.turns[number];
    const refusals = turn?.refusals[member] ?? [];
    const times = failed.get(number) ?? 0;
    failed.set(number, times + 1);
    const refusal = refusals[times];
    if (refusal !== undefined) return refused(refusal);
    const mark = `#${number}#`;
    const pace = { afterMs: shape.paceMs };
    if (turn !== undefined && turn.calls.length > 0) {
      return {
        text: `${mark} ${"word ".repeat(turn.words * (shape.window === undefined ? 1 : 160))}`,
        toolCalls: callsOf(turn, number, shape),
        ...(turn.reasoning ? { reasoning: `thought ${number} of it` } : {}),
        ...pace,
        ...filesOf(turn),
      } as ScriptedStep;
    }
    const isMisfit = number - shape.turns.length < shape.misfits || (shape.chain === "output" && member === 0);
    const text = shape.output === "object" && !isMisfit ? JSON.stringify({ mark, ok: true }) : `${mark} no more.`;
    return { text, ...pace, ...(turn === undefined || shape.output === "object" ? {} : filesOf(turn)) } as ScriptedStep;
  }) as unknown as ScriptedStep;
}

function filesOf({ files: count }: RandomTurn): object {
  if (count === 0) return {};
  return {
    files: Array.from({ length: count }, (_, place) => ({
      at: place,
      mediaType: "image/png",
      name: `m${place}.png`,
      data: made[place],
    })),
  };
}

/** The adapter of the shape, with new models. `requests` grows with what is asked. */
export function adapterOf(
  shape: Shape,
  environment: Environment,
): { readonly adapter: ProviderAdapter; asked(): number } {
  const models = (shape.chain === "none" ? [0] : [0, 1]).map((member) => {
    const steps = Array.from({ length: 400 }, () => answering(shape, member));
    // One counter of failures for all requests of a model.
    const one = answering(shape, member);
    steps.fill(one);
    const model = scriptedModel(steps, { ...environment, capabilities: { files } });
    return { ...model, name: `model-${member}`, model: `model-${member}`, requests: model.requests };
  });
  const throttle = { maxAttempts: 3, baseDelayMs: 2 };
  const adapters = models.map((model) => modelAdapter(model, { ...environment, throttle }));
  const [first] = adapters as [ProviderAdapter];
  const adapter =
    shape.chain === "none"
      ? first
      : shape.chain === "hedged"
        ? hedged(adapters, { afterMs: 12 })
        : fallback(adapters, {
            ...environment,
            order: (candidates) => (shape.seed % 2 === 0 ? candidates : candidates.toReversed()),
            ...(shape.chain === "output" ? { on: ["output"], repeatTools: shape.seed % 3 === 0 } : {}),
          });
  return { adapter, asked: () => models.reduce((sum, { requests }) => sum + requests.length, 0) };
}

/** The prompt of summaries. */
export const summaryPrompt = definePrompt({
  ns: "runs",
  key: "summary",
  params: z.object({ conversation: z.string(), earlier: z.string() }),
  sections: [{ key: "task", text: "Summarise. {{earlier}} {{conversation}}" }],
});
