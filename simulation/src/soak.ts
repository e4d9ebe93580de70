/**
 * `pnpm soak [--evaluations 10000] [--at-once 64] [--chaos 0.3]`: evaluations over a loopback server that fails often, with
 * tools on a folder and in a database of their own, streamed and not, some aborted. What is counted at the end must be what
 * it was after the first thousand: heap, handles, descriptors, listeners, files that undo.
 */
import { openai } from "@proviso/adapter-openai";
import {
  deadlineIn,
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  Filesystem,
  isEvaluationFailure,
  provide,
  systemClock,
  trackBudget,
  type ProviderAdapter,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { startSimulator, type SimulatedRequest } from "@proviso/simulator";
import { getEventListeners } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { z } from "zod";

const { values } = parseArgs({
  options: {
    evaluations: { type: "string", default: "10000" },
    "at-once": { type: "string", default: "64" },
    chaos: { type: "string", default: "0.3" },
  },
});
const evaluations = Number(values.evaluations);
const atOnce = Number(values["at-once"]);
const rate = Number(values.chaos);
const warmUp = Math.min(1_000, Math.ceil(evaluations / 10));
const largestGrowth = 1.05;

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: z.object({ text: z.string(), fails: z.boolean() }),
  uses: [Filesystem],
  async execute({ text, fails }, { session, resources }) {
    session.dispatch(noted({ text }));
    await resources.get(Filesystem).write(`${text}.txt`, text);
    if (fails) throw new Error("on purpose");
    return `noted ${text}`;
  },
});
const prompt = definePrompt({
  ns: "soak",
  key: "notes",
  output: z.object({ total: z.number() }),
  sections: [
    { key: "guide", text: "Keep notes, then count them.", tools: [note], slices: [notes] },
    { key: "request", text: "Begin.", role: "user" },
  ],
}).bind();

/** Two notes, of which the second fails, and an answer. */
function answerTo(request: SimulatedRequest): object {
  const done = request.toolResults().length;
  if (done >= 2) return { output: { total: 1 } };
  return { text: "I note.", toolCalls: [{ name: "note", arguments: { text: `note-${done}`, fails: done === 1 } }] };
}

interface Counts {
  readonly heapBytes: number;
  /** What keeps the process alive, by name. */
  readonly handles: string;
  /** Open files, pipes and sockets; 0 where the system has no list of them. */
  readonly descriptors: number;
  /** On the signal that all evaluations share, and on the process. */
  readonly listeners: number;
}

/** Of this process, when nothing runs and no connection is kept any more. */
async function counts(signal: AbortSignal): Promise<Counts> {
  const isQuiet = (): boolean => !process.getActiveResourcesInfo().includes("TCPSocketWrap");
  for (let waited = 0; waited < 15_000 && !isQuiet(); waited += 100) await sleep(100);
  // What was collected may free more.
  for (let round = 0; round < 5; round++) {
    globalThis.gc?.();
    await sleep(20);
  }
  return {
    heapBytes: process.memoryUsage().heapUsed,
    handles: process
      .getActiveResourcesInfo()
      .filter((name) => name !== "Timeout")
      .toSorted()
      .join(" "),
    descriptors: process.platform === "linux" ? readdirSync("/proc/self/fd").length : 0,
    listeners: getEventListeners(signal, "abort").length + process.listenerCount("unhandledRejection"),
  };
}

const sleep = (ms: number): Promise<void> => systemClock.sleep(ms);
/** Waits take next to no time; a provider that asks for a longer one is a ThrottleError. */
const throttle = { baseDelayMs: 1, maxDelayMs: 5, quotaDelayMs: 1, maxTotalDelayMs: 100 };

/** The same numbers in every run. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const violations: string[] = [];
const outcomes = new Map<string, number>();
process.on("unhandledRejection", (reason) => void violations.push(`an unhandled rejection: ${String(reason)}`));

/** What is in a folder when what went on behind an evaluation that was stopped is over. */
async function settledIn(folder: string): Promise<readonly string[]> {
  for (let waited = 0; waited < 30_000; waited += 20) {
    const names = readdirSync(folder);
    if (!names.includes(".proviso-undo")) return names;
    await sleep(20);
  }
  return readdirSync(folder);
}

/** One evaluation in a folder of its own, checked. */
async function evaluateOnce(
  adapter: ProviderAdapter,
  folder: string,
  shared: AbortSignal,
  chance: number,
): Promise<void> {
  const session = createSession({ slices: [notes] });
  const leaving = chance < 0.05 ? new AbortController() : undefined;
  const options = {
    session,
    deadline: deadlineIn(120_000),
    budget,
    signal: leaving?.signal ?? shared,
    resources: [provide(Filesystem, hostFilesystem(folder))],
  };
  const stopped = leaving && sleep(chance * 400).then(() => leaving.abort());
  let outcome: string;
  try {
    const stream = chance < 0.5 ? adapter.stream(prompt, options) : undefined;
    if (stream !== undefined)
      for await (const event of stream) if (chance < 0.03 && event.type === "tool.invoked") break;
    await (stream?.response ?? adapter.evaluate(prompt, options));
    outcome = "answered";
  } catch (error) {
    if (!isEvaluationFailure(error)) violations.push(`a raw error: ${String(error)}`);
    outcome = isEvaluationFailure(error) ? error.code : "raw";
  }
  await stopped;
  outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
  // A model may make the same call again.
  const kept = [...new Set(session.get(notes).map((text) => `${text}.txt`))];
  const there = await settledIn(folder);
  if (kept.join() !== there.join())
    violations.push(`after "${outcome}" the session has [${kept.join()}], the folder [${there.join()}]`);
  for (const name of there) rmSync(join(folder, name), { recursive: true });
}

const budget = trackBudget({ maxTotalTokens: Number.MAX_SAFE_INTEGER });
const root = mkdtempSync(join(tmpdir(), "proviso-soak-"));
const shared = new AbortController();
const random = randomFrom(1);

async function soak(adapters: readonly ProviderAdapter[], count: number): Promise<void> {
  let begun = 0;
  const lane = async (index: number): Promise<void> => {
    const folder = join(root, String(index));
    mkdirSync(folder, { recursive: true });
    while (begun < count) {
      const adapter = adapters[begun++ % adapters.length] as ProviderAdapter;
      await evaluateOnce(adapter, folder, shared.signal, random());
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, (_, index) => lane(index)));
}

const shown = ({ heapBytes, handles, descriptors, listeners }: Counts): string =>
  `heap ${(heapBytes / 2 ** 20).toFixed(2)} MiB, ${descriptors} descriptors, ${listeners} listeners, handles: ${handles}`;

async function main(): Promise<void> {
  if (globalThis.gc === undefined)
    throw new Error("The heap is compared after a collection: run node with --expose-gc.");
  await using simulator = await startSimulator({
    rules: [answerTo],
    keepRequests: false,
    chaos: { seed: 1, rate },
  });
  const adapters = (["responses", "chat"] as const).map((api) =>
    openai({
      model: "gpt-5.4",
      api,
      apiKey: "sk-soak-0123456789",
      baseURL: simulator.baseURL,
      // The simulator is in this process, and keeps what a service would store.
      store: false,
      throttle,
      timeoutMs: 2_000,
      stallMs: 1_000,
    }),
  );
  // Both are opened by their first line.
  console.log(`${evaluations} evaluations, ${atOnce} at once, ${rate * 100} % chaos`);
  console.error("soak: begins");
  const startedAt = performance.now();
  await soak(adapters, warmUp);
  const before = await counts(shared.signal);
  console.log(`after ${warmUp}: ${shown(before)}`);
  await soak(adapters, evaluations - warmUp);
  const after = await counts(shared.signal);
  console.log(`after ${evaluations}: ${shown(after)}`);
  compare(before, after);
  const seconds = (performance.now() - startedAt) / 1_000;
  console.log(`${[...outcomes].map(([outcome, count]) => `${outcome} ${count}`).join(", ")}; ${seconds.toFixed(0)} s`);
}

function compare(before: Counts, after: Counts): void {
  const growth = after.heapBytes / before.heapBytes;
  console.log(`heap at the end: ${growth.toFixed(3)} × after the first ${warmUp}`);
  if (!(growth <= largestGrowth))
    violations.push(`the heap grew to ${growth.toFixed(3)} ×, more than ${largestGrowth}`);
  for (const what of ["handles", "descriptors", "listeners"] as const) {
    if (after[what] !== before[what]) violations.push(`${what}: ${before[what]} before, ${after[what]} at the end`);
  }
}

try {
  await main();
} finally {
  rmSync(root, { recursive: true, force: true });
}
for (const violation of violations.slice(0, 20)) console.error(`soak: ${violation}`);
console.log(violations.length === 0 ? "soak: nothing is left over" : `soak: ${violations.length} violations`);
process.exitCode = violations.length === 0 ? 0 : 1;
