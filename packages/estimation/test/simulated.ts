import { defineTool, definePrompt, type ModelRequest, type Prompt, type ReportedUsage } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { estimate, memoryUsageStore, usageStatistics, type Estimate } from "@proviso/estimation";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { z } from "zod";

type Random = () => number;

/** How a world spends; every draw takes its randomness from the one source. */
export interface World {
  readonly name: string;
  readonly turns: (random: Random) => number;
  readonly outputTokens: (random: Random) => number;
  /** Tokens that were counted for each that the prompt's length lets expect. */
  readonly inputFactor: (random: Random) => number;
  readonly requestMs: (random: Random) => number;
  /** What the provider charges, and reports. Left out: it says nothing. */
  readonly usdPerToken?: number;
}

/** Source: G. E. P. Box, M. E. Muller, "A Note on the Generation of Random Normal Deviates" (1958). */
const normal = (random: Random): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
const lognormal = (median: number, sigma: number) => (random: Random) => median * Math.exp(sigma * normal(random));
const uniform = (from: number, to: number) => (random: Random) => from + (to - from) * random();
const exponential = (mean: number) => (random: Random) => -mean * Math.log(1 - random());
const either =
  (share: number, one: (random: Random) => number, other: (random: Random) => number) => (random: Random) =>
    random() < share ? one(random) : other(random);
/** How often until it ends, at most `most`. */
const geometric = (ends: number, most: number) => (random: Random) =>
  Math.min(most, 1 + Math.floor(Math.log(1 - random()) / Math.log(1 - ends)));

export const worlds: readonly World[] = [
  {
    name: "lognormal",
    turns: geometric(0.4, 20),
    outputTokens: lognormal(300, 0.8),
    inputFactor: lognormal(1, 0.2),
    requestMs: lognormal(1_500, 0.7),
  },
  {
    name: "bimodal",
    turns: either(0.7, () => 1, uniform(5, 12)),
    outputTokens: either(0.7, lognormal(60, 0.3), lognormal(2_000, 0.3)),
    inputFactor: either(0.5, uniform(0.8, 1), uniform(1.8, 2.2)),
    requestMs: either(0.8, uniform(300, 600), uniform(8_000, 20_000)),
  },
  {
    name: "heavy-tailed",
    turns: geometric(0.2, 40),
    outputTokens: lognormal(200, 1.8),
    inputFactor: exponential(1),
    requestMs: lognormal(1_000, 1.6),
  },
  {
    name: "uniform",
    turns: uniform(1, 9),
    outputTokens: uniform(10, 500),
    inputFactor: uniform(0.7, 1.3),
    requestMs: uniform(200, 3_000),
  },
];

export const quantities = ["inputTokens", "outputTokens", "turns", "durationMs"] as const;
type Quantity = (typeof quantities)[number];
export type Spent = Readonly<Record<Quantity | "costUsd", number>>;

const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
const template = definePrompt({
  ns: "tests",
  key: "simulated",
  params: z.object({ payload: z.string() }),
  sections: [
    { key: "guide", text: "Look until you have seen enough.", tools: [look] },
    { key: "payload", text: "{{payload}}", role: "user" },
  ],
});

/** A world that is evaluated in: prompts of random length, one evaluation after another, through the public doors. */
function openWorld({ turns, outputTokens, inputFactor, requestMs, usdPerToken }: World, seed: number) {
  const environment = fakeEnvironment(seed);
  const random = environment.random as Random;
  let now = environment.clock.now();
  // Time passes only while the model works.
  const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) };
  const steps: ScriptedStep[] = [];
  const model = scriptedModel(steps, { clock });
  const adapter = modelAdapter(model, { ...environment, clock });
  const session = createSession();

  /** A prompt, and what the model will make of it. */
  const next = (): Prompt => {
    const last = Math.round(turns(random));
    const factor = inputFactor(random);
    const usageOf = ({ messages }: ModelRequest): ReportedUsage => {
      const input = Math.ceil((factor * messages.reduce((sum, { text }) => sum + text.length, 0)) / 4);
      const output = Math.ceil(outputTokens(random));
      const costUsd = usdPerToken === undefined ? undefined : usdPerToken * (input + 4 * output);
      return { inputTokens: input, outputTokens: output, costUsd };
    };
    for (let turn = 1; turn <= last; turn++) {
      const answer = turn < last ? { toolCalls: [{ name: "look" }] } : { text: "Seen." };
      steps.push((request) => ({ ...answer, usage: usageOf(request), afterMs: Math.round(requestMs(random)) }));
    }
    return template.bind({ payload: "x".repeat(Math.floor(uniform(200, 4_000)(random))) });
  };
  const evaluate = async (prompt: Prompt): Promise<Spent> => {
    const startedAt = now;
    const { usage, turns: taken } = await adapter.evaluate(prompt, { session });
    const { inputTokens, outputTokens: output, costUsd = 0 } = usage;
    return { inputTokens, outputTokens: output, turns: taken, durationMs: now - startedAt, costUsd };
  };
  return { adapter, session, next, evaluate };
}

export interface Calibration {
  readonly spent: Spent;
  readonly estimated: Estimate;
}

/**
 * Estimates before each evaluation, once there is enough history.
 * @param growing whether what is estimated becomes history, as in use; otherwise the first `history` stay all there is.
 */
export async function calibrate(
  world: World,
  seed: number,
  { history, later, growing }: { readonly history: number; readonly later: number; readonly growing: boolean },
): Promise<readonly Calibration[]> {
  const { adapter, session, next, evaluate } = openWorld(world, seed);
  const store = memoryUsageStore();
  const stop = usageStatistics(store).observe(session);
  const results: Calibration[] = [];
  for (let i = 0; i < history + later; i++) {
    if (i === history && !growing) stop();
    const prompt = next();
    const estimated = i < history ? undefined : await estimate(prompt, { adapter, history: store });
    const spent = await evaluate(prompt);
    if (estimated !== undefined) results.push({ spent, estimated });
  }
  return results;
}

/** The share of evaluations that stayed at or below the p90, less `by`. */
export function coverage(results: readonly Calibration[], of: Quantity, by = 0): number {
  return results.filter(({ spent, estimated }) => spent[of] <= estimated[of].p90 - by).length / results.length;
}
