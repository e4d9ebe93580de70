import { commandLine } from "@proviso/adapter-process";
import {
  deadlineIn,
  definePrompt,
  defineTool,
  systemClock,
  type EvaluateOptions,
  type Prompt,
  type ProviderAdapter,
} from "@proviso/core";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test, vi } from "vitest";
import { z } from "zod";
import { folder, lives, read } from "./support/command.ts";
import { bounds, endsOf, planFrom, sliceOf, type Plan } from "./support/misbehaviour.ts";
import { whileMeasuring } from "./support/yardstick.ts";

const seed = 6;
const runs = 500;
const atOnce = 8;
const script = join(import.meta.dirname, "processes/misbehave.sh");
/** Every process of the test has it, and what such a process starts. */
const mark = "PROVISO_TEST_MARK";

const count = defineTool({ name: "count", description: "Counts.", input: z.strictObject({}), execute: () => "1" });
const prompt = definePrompt({
  ns: "process",
  key: "chaos",
  sections: [{ key: "request", text: "Go on.", role: "user", tools: [count] }],
}).bind();
const long = definePrompt({ ns: "process", key: "long", text: "x".repeat(1_000_000) }).bind();

interface Settled {
  readonly plan: Plan;
  readonly end: string;
  /** How long after its limit it settled. */
  readonly lateMs: number;
}

async function play(plan: Plan, noted: string): Promise<Settled> {
  const { deed, limit, limitMs, deedMs, stream } = plan;
  const fromLimit = limit === "none" ? 0 : limitMs;
  const adapter = commandLine({
    command: "/bin/sh",
    args: [script, deed, String(deedMs / 1_000), noted],
    env: [mark],
    throttle: { maxAttempts: 1 },
    ...(limit === "timeout" ? { timeoutMs: limitMs } : {}),
  });
  const [caller, settled] = [new AbortController(), new AbortController()];
  const startedAt = systemClock.now();
  const deadline = limit === "deadline" ? { deadline: deadlineIn(limitMs) } : {};
  const asked = endOf(adapter, deed === "closes_input" ? long : prompt, { signal: caller.signal, ...deadline }, stream);
  const left = (ms: number): Promise<unknown> => systemClock.sleep(ms, settled.signal).catch(() => {});
  if (limit === "abort") void left(limitMs).then(() => caller.abort("enough"));
  if (deed === "is_killed") void kill(noted, plan, settled.signal);
  const end = await asked;
  const lateMs = systemClock.now() - startedAt - fromLimit;
  settled.abort();
  return { plan, end, lateMs };
}

async function endOf(
  adapter: ProviderAdapter,
  what: Prompt,
  options: EvaluateOptions,
  stream: boolean,
): Promise<string> {
  try {
    if (!stream) await adapter.evaluate(what, options);
    else for await (const _ of adapter.stream(what, options)) continue;
    return "answered";
  } catch (error) {
    const { code, kind, reason, exitCode, signal } = error as Readonly<Record<string, string | number | undefined>>;
    const more = kind ?? reason ?? signal ?? exitCode;
    return more === undefined ? `${code}` : `${code}: ${more}`;
  }
}

/** From outside, some time after it began. */
async function kill(noted: string, { deedMs, by }: Plan, settled: AbortSignal): Promise<void> {
  while (read(noted) === "" && !settled.aborted) await systemClock.sleep(5);
  await systemClock.sleep(deedMs);
  const id = Number(read(noted));
  // What met its limit may be gone before it has settled.
  if (!settled.aborted && lives(id)) process.kill(id, by);
}

/** Those of this test that live. */
function marked(value: string): readonly number[] {
  const ids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return ids.filter(
    (id) => id !== process.pid && read(`/proc/${id}/environ`).includes(`${mark}=${value}`) && lives(id),
  );
}

const descriptors = (): number => readdirSync("/proc/self/fd").length;

test.runIf(existsSync("/proc/self/fd"))(
  "CMD-6 LIM-2 SEC-3 hundreds of commands that are killed, flood and hang: all settle in time, and nothing of them is left",
  { timeout: 1_800_000 },
  async () => {
    const value = `chaos-${process.pid}`;
    process.env[mark] = value;
    const home = folder();
    const { random = () => 0 } = fakeEnvironment(seed);
    const all = Array.from({ length: runs }, () => planFrom(random));
    const plans = inject("exhaustive") ? all : sliceOf(all);
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warn);
    const listeners = process.listenerCount("exit");
    await play({ ...planFrom(random), deed: "answers", limit: "none" }, join(home, "first"));
    const begun = descriptors();
    const held = (): object => ({
      ids: marked(value),
      // Files share their worker: what an earlier one left open may be closed meanwhile.
      moreDescriptors: Math.max(0, descriptors() - begun),
      listeners: process.listenerCount("exit"),
    });

    const queue = plans.entries();
    const settled: Settled[] = [];
    const worker = async (): Promise<void> => {
      for (const [index, plan] of queue) settled.push(await play(plan, join(home, String(index))));
    };
    const { slowest } = await whileMeasuring(() => Promise.all(Array.from({ length: atOnce }, worker)));
    // What was aborted has its grace, behind.
    await vi.waitFor(() => expect(held()).toEqual({ ids: [], moreDescriptors: 0, listeners }), { timeout: 120_000 });
    process.off("warning", warn);
    delete process.env[mark];

    expect(settled.filter(({ plan, end }) => !endsOf(plan).includes(end))).toEqual([]);
    const boundOf = ({ limit }: Plan): number => bounds[limit] + 10 * slowest;
    expect(settled.filter(({ plan, lateMs }) => lateMs > boundOf(plan))).toEqual([]);
    expect(settled).toHaveLength(plans.length);
    expect(warnings).toEqual([]);
  },
);
