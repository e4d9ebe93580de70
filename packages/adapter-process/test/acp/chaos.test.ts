import { acpAgent } from "@proviso/adapter-process";
import {
  deadlineIn,
  systemClock,
  type EvaluateOptions,
  type EvaluationFailure,
  type ProviderAdapter,
  type ToolInvoked,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test, vi } from "vitest";
import { folder, lives, read } from "../support/command.ts";
import { whileMeasuring } from "../support/yardstick.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";
import { descriptors, held, notes, script, withTools } from "./support.ts";

const seed = 6;
const runs = 100;
const atOnce = 4;
/** Every process of the test has it, and what such a process starts. */
const mark = "PROVISO_TEST_MARK";

const noteCalls = JSON.stringify(["a", "bad", "b"].map((text) => ({ name: "note", arguments: { text } })));
/** What a deed comes to where no limit is met. */
const deeds: Readonly<Record<string, readonly [end: string, more?: string]>> = {
  echo: ["answered"],
  calls: ["answered", noteCalls],
  volley: ["answered", noteCalls],
  usage: ["answered"],
  leave: ["answered", "file"],
  stop: ["provider: refusal", "refusal"],
  refuse: ["throttled: rate_limit", "429|Slow down."],
  auth: ["provider: api_key"],
  exit: ["process: 3", "3"],
  selfkill: ["process: SIGKILL"],
  mute: ["process"],
  banner: ["process"],
  garbage: ["process", "Hello."],
  complain: ["process: 1"],
  flood: ["process"],
  hang: ["never"],
  silent: ["never"],
  cancellable: ["never", "file"],
  stubborn: ["never", "file"],
};
const limits = ["deadline", "abort", "timeout"] as const;
const limitEnds = { deadline: "deadline", abort: "aborted", timeout: "throttled: timeout" };

interface Plan {
  readonly deed: string;
  readonly limit: "none" | (typeof limits)[number];
  readonly limitMs: number;
  readonly stream: boolean;
}

function planFrom(random: () => number): Plan {
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const deed = pick(Object.keys(deeds));
  const limit = pick<Plan["limit"]>(deeds[deed]?.[0] === "never" ? limits : ["none", "none", ...limits]);
  return { deed, limit, limitMs: Math.floor(random() ** 2 * 800) + 1, stream: random() < 0.5 };
}

/** Milliseconds in which an evaluation must settle after its limit, on a quiet machine; "none": in all. */
const bounds = { none: 10_000, deadline: 100, abort: 100, timeout: 2_000 };

async function play({ deed, limit, limitMs, stream }: Plan, file: string) {
  const [, more = ""] = deeds[deed] ?? [];
  const adapter = acpAgent({
    command: process.execPath,
    args: [...fromSources, script, deed, more === "file" ? file : more],
    env: [mark, "NODE_COMPILE_CACHE"],
    ...(limit === "timeout" ? { timeoutMs: limitMs } : {}),
  });
  const [caller, settled] = [new AbortController(), new AbortController()];
  const session = createSession({ slices: [notes] });
  const startedAt = systemClock.now();
  const options = {
    session,
    signal: caller.signal,
    ...(limit === "deadline" ? { deadline: deadlineIn(limitMs) } : {}),
  };
  const asked = endOf(adapter, options, stream);
  const left = (ms: number): Promise<unknown> => systemClock.sleep(ms, settled.signal).catch(() => {});
  if (limit === "abort") void left(limitMs).then(() => caller.abort("enough"));
  const { end, toolResults } = await asked;
  const lateMs = systemClock.now() - startedAt - (limit === "none" ? 0 : limitMs);
  settled.abort();
  const kept = toolResults.flatMap(({ result }) => (result.success ? [String(result.value)] : []));
  const own = deeds[deed]?.[0] ?? "";
  const ends = [...(own === "never" ? [] : [own]), ...(limit === "none" ? [] : [limitEnds[limit]])];
  return {
    ended: ends.some((one) => end === one || end.startsWith(`${one}: `)) ? "well" : end,
    lateMs,
    // TX-1 TX-2: what is in the session is what the calls that succeeded wrote.
    whole:
      session
        .get(notes)
        .map((text) => `noted ${text}`)
        .join() === kept.join(),
  };
}

interface End {
  readonly end: string;
  readonly toolResults: readonly ToolInvoked[];
}

async function endOf(adapter: ProviderAdapter, options: EvaluateOptions, stream: boolean): Promise<End> {
  try {
    if (!stream) return { end: "answered", toolResults: (await adapter.evaluate(withTools, options)).toolResults };
    const streamed = adapter.stream(withTools, options);
    for await (const _ of streamed) continue;
    return { end: "answered", toolResults: (await streamed.response).toolResults };
  } catch (error) {
    const { code, kind, reason, exitCode, signal } = error as Readonly<Record<string, string | number | undefined>>;
    const { toolResults } = error as EvaluationFailure;
    const more = kind ?? reason ?? signal ?? exitCode;
    return { end: more === undefined ? `${code}` : `${code}: ${more}`, toolResults };
  }
}

/** Of these the first of each deed and of each limit. */
function sliceOf(plans: readonly Plan[]): readonly Plan[] {
  const first = plans.toReversed();
  const deeds = new Map(first.map((plan) => [plan.deed, plan]));
  const limits = new Map(first.map((plan) => [plan.limit, plan]));
  return [...new Set([...deeds.values(), ...limits.values()])];
}

/** Those of this test that live. */
function marked(value: string): readonly number[] {
  const ids = readdirSync("/proc").map(Number).filter(Number.isInteger);
  return ids.filter(
    (id) => id !== process.pid && read(`/proc/${id}/environ`).includes(`${mark}=${value}`) && lives(id),
  );
}

test.runIf(existsSync("/proc/self/fd"))(
  "CMD-31 CMD-25 TX-1 SEC-3 agents that fail and hang: all settle in time, calls are whole, and nothing is left",
  { timeout: 1_800_000 },
  async () => {
    const value = `acp-chaos-${process.pid}`;
    process.env[mark] = value;
    const home = folder();
    const { random = () => 0 } = fakeEnvironment(seed);
    const all = Array.from({ length: runs }, () => planFrom(random));
    const plans = inject("exhaustive") ? all : sliceOf(all);
    const warnings: Error[] = [];
    const warn = (warning: Error): void => void warnings.push(warning);
    process.on("warning", warn);
    await play({ deed: "calls", limit: "none", limitMs: 0, stream: false }, join(home, "first"));
    const begun = descriptors();
    const left = (): object => ({
      ids: marked(value),
      resources: held(),
      // Files share their worker: what an earlier one left open may be closed meanwhile.
      moreDescriptors: Math.max(0, descriptors() - begun),
      listeners: process.listenerCount("exit"),
    });
    const before = left();

    const queue = plans.entries();
    const played: (Awaited<ReturnType<typeof play>> & { readonly plan: Plan })[] = [];
    const worker = async (): Promise<void> => {
      for (const [index, plan] of queue) played.push({ plan, ...(await play(plan, join(home, String(index)))) });
    };
    const { slowest } = await whileMeasuring(() => Promise.all(Array.from({ length: atOnce }, worker)));
    // What was aborted has its grace, behind.
    await vi.waitFor(() => expect(left()).toEqual(before), { timeout: 120_000 });
    process.off("warning", warn);
    delete process.env[mark];

    // A Node process takes longer to begin than the shell that is measured.
    const isLate = ({ plan, lateMs }: (typeof played)[number]) => lateMs > bounds[plan.limit] + 50 * slowest;
    expect(played.filter((one) => one.ended !== "well" || !one.whole || isLate(one))).toEqual([]);
    expect(played).toHaveLength(plans.length);
    expect(warnings).toEqual([]);
  },
);
