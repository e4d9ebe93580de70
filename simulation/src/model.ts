import type { ModelProvider, ModelRequest, ModelResponse } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { badAnswer, callAnswer, finalAnswer, maxOutputTokens, throttle, usageOf, type Manner } from "./answers.ts";
import type { Answer } from "./answers.ts";
import { readableOnce } from "./hostile.ts";
import { checkHistory } from "./history-check.ts";
import type { Watched } from "./registry.ts";
import type { World } from "./world.ts";

/** What it tells beside its text, as a delta of another kind. */
export const thought = "hm";

/** A model that does whatever models and networks do. */
export function randomModel(world: World, manner: Manner, nativeOutput: boolean): ModelProvider {
  const { random, clock, book, registry } = world;
  const { honest, mayHang, name } = manner;
  let calls = 0;
  let isRefusing = false;
  /** Streams that are over. */
  const closed: ((delta: ModelDelta) => void)[] = [];

  const decide = (request: ModelRequest, { said, hasOutput, isNested }: Watched): Answer => {
    const kind = random.int(100);
    const usage = usageOf(manner, request);
    if (kind < 3 && mayHang) return { intent: { kind: "hang" } };
    // Refusals come in rows.
    isRefusing = kind < 13 || (isRefusing && random.chance(0.6));
    if (isRefusing) return throttle(manner, usage);
    if (kind < 19) return badAnswer(manner, usage);
    const isTired = said.length > (isNested ? 1 : 0) && random.chance(0.3);
    if (request.tools.length === 0 || isTired || random.chance(0.08)) return finalAnswer(manner, hasOutput, usage);
    return callAnswer(manner, request, () => `${name}-${++calls}`, usage);
  };

  return {
    name,
    model: "random-model",
    ...(honest ? { maxOutputTokens } : {}),
    capabilities: { tools: true, nativeOutput },
    async generate(request) {
      const watched = registry.requesting();
      if (watched === undefined || watched.hasEnded) {
        book.demand(false, "LOOP-1 the model is asked by nobody");
        throw new Error("nobody asks");
      }
      book.demand(watched.name === name, `LOOP-1 ${name} is asked in place of ${watched.name}`);
      book.demand(!request.signal.aborted, "LIM-2 a request begins after its signal has fired");
      book.demand(watched.turn <= watched.maxTurns, `LOOP-4 turn ${watched.turn} of ${watched.maxTurns}`);
      checkHistory(book, watched, request, world.expected.hasOpened());
      for (const tell of closed) tell({ kind: "text", text: "too late" });
      const chosen = decide(request, watched);
      watched.intent = chosen.intent;
      if (chosen.intent.kind === "hang") return new Promise(() => {});
      if (random.chance(0.3)) await clock.sleep(random.int(1_500), random.chance(0.5) ? request.signal : undefined);
      if (request.onDelta !== undefined) {
        await tellDeltas(world, request.onDelta, textOf(chosen));
        closed.push(request.onDelta);
      }
      if (!request.signal.aborted) remember(watched, chosen, request.onDelta !== undefined);
      if (random.chance(0.01)) void abortSoon(watched, random.int(8));
      if ("throws" in chosen) throw chosen.throws;
      const answer = chosen.answer as ModelResponse;
      const isObject = typeof answer === "object" && answer !== null;
      return isObject && random.chance(0.1) ? readableOnce(answer, ["message"]) : answer;
    },
  };
}

/** While what is answered is on its way. */
async function abortSoon({ abort }: Watched, hops: number): Promise<void> {
  for (let i = 0; i < hops; i++) await Promise.resolve();
  abort();
}

/** What an answer that comes in time adds to what is known of its evaluation. */
function remember(watched: Watched, { intent, answer, usage }: Answer, isStreamed: boolean): void {
  const sound = [usage?.inputTokens, usage?.outputTokens].every((n) => Number.isFinite(n) && Number(n) >= 0);
  // Words of an attempt that failed are counted as an estimate.
  const told =
    isStreamed ||
    usage !== undefined ||
    intent.kind === "calls" ||
    intent.kind === "final" ||
    intent.kind === "refused";
  const tokens = Number(usage?.inputTokens) + Number(usage?.outputTokens);
  if (told) watched.reported = sound && watched.reported !== undefined ? watched.reported + tokens : undefined;
  if (intent.kind === "calls" || intent.kind === "final") watched.said.push((answer as ModelResponse).message);
  if (intent.kind === "final" && !intent.fits && watched.hasOutput) watched.misfits += 1;
}

function textOf({ answer }: Answer): string {
  const text = (answer as { message?: { text?: unknown } } | null | undefined)?.message?.text;
  return typeof text === "string" ? text : "Half of an";
}

/** Pieces of the text, now and then of something else, or not all of it. */
async function tellDeltas({ random, clock }: World, tell: (delta: ModelDelta) => void, text: string): Promise<void> {
  const shown = random.chance(0.1) ? "Something else." : text.slice(0, random.chance(0.2) ? 3 : text.length);
  for (let at = 0; at < shown.length;) {
    const size = 1 + random.int(8);
    tell({ kind: "text", text: shown.slice(at, at + size) });
    if (random.chance(0.1)) tell({ kind: "thought" as "text", text: thought });
    if (random.chance(0.1)) await clock.sleep(random.int(50));
    at += size;
  }
}
