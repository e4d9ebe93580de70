// A store with runs worth looking at, and a viewer over it.
import { definePrompt, defineSection, defineTool, type RunReader } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import {
  journalRuns,
  startViewer,
  type AttemptView,
  type EvalReader,
  type EvalView,
  type Viewer,
  type ViewerOptions,
} from "@proviso/viewer";
import { onTestFinished } from "vitest";
import { z } from "zod";
import { noted, notes } from "./support.ts";

/** What a page could take for code, or what could hide or turn it. */
export const hostile = `<img src=x onerror="document.title='taken'"><script>document.title='taken'</script> \u202eneddih\u2066 \u0007 [link](javascript:alert(1))`;

function reviewed(text = "Review {{file}}.") {
  const note = defineTool({
    name: "note_finding",
    description: "Takes a note.",
    input: z.object({ path: z.string() }),
    execute({ path }, { session }) {
      session.dispatch(noted({ text: path }));
      if (path === "b.ts") throw new Error(`b.ts does not exist. ${hostile}`);
      return `noted ${path}`;
    },
  });
  const summarise = defineTool({
    name: "summarise",
    description: "Summarises.",
    input: z.object({}),
    async execute(_input, { evaluate }) {
      return (await evaluate("Summarise.")).text;
    },
  });
  return definePrompt({
    ns: "app",
    key: "review",
    params: z.object({ file: z.string() }),
    slices: [notes],
    sections: [
      defineSection({ key: "rules", text: "Be brief." }),
      defineSection({ key: "task", text, tools: [note, summarise] }),
    ],
  });
}

const call = (name: string, given: object, id: string) => ({ id, name, arguments: given });

const review: readonly ScriptedStep[] = [
  { text: "I will list the files.", toolCalls: [call("note_finding", { path: "a.ts" }, "call_1")] },
  { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 2_000 },
  {
    text: "Let me note that.",
    toolCalls: [
      call("note_finding", { path: "b.ts" }, "call_2"),
      call("summarise", {}, "call_3"),
      call("nothing", { text: hostile }, "call_4"),
    ],
  },
  { text: "A summary of the rest." },
  { text: `7 findings. ${hostile}` },
];

interface RecordOptions {
  readonly steps?: readonly ScriptedStep[];
  readonly text?: string;
  readonly at?: number;
}

/** Records a run, with a clock of its own. */
export async function record(journal: Journal, id: string, options: RecordOptions = {}): Promise<void> {
  const { steps = review, text, at = Date.now() - 60_000 } = options;
  let now = at;
  const clock = { now: () => (now += 40), sleep: async (ms: number) => void (now += ms) };
  const adapter = modelAdapter(scriptedModel([...steps]), { clock });
  const budget = { maxTotalTokens: 100_000 };
  await adapter.evaluate(reviewed(text).bind({ file: "a.ts" }), { run: journal.run(id), budget }).catch(() => {});
}

/** Opens a viewer that is closed when the test is over. */
export async function opened(
  runs: RunReader,
  options: Omit<ViewerOptions, "runs"> = {},
): Promise<Viewer & { readonly token: string }> {
  const viewer = await startViewer({ runs, ...options });
  onTestFinished(() => viewer.close());
  return { ...viewer, token: viewer.url.split("#t=")[1] ?? "" };
}

export const usage = {
  inputTokens: 10,
  outputTokens: 5,
  totalTokens: 15,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  estimated: false,
};

/** An eval of six rows with two variants, twice each. */
function evalResults(): EvalReader {
  const interval = (value: number) => ({ value, low: value - 0.1, high: value + 0.1, confidence: 0.95 });
  const report: EvalView = {
    name: `review ${hostile}`,
    runId: "eval 1",
    startedAt: "2026-11-23T12:00:00Z",
    status: "done",
    rows: 6,
    variants: ["now", "brief"],
    repetitions: 2,
    baseline: { variant: "now" },
    ranges: { correct: [0, 1] },
    scores: { now: { correct: interval(0.5) }, brief: { correct: interval(0.8) } },
    differences: { brief: { correct: interval(0.3) } },
    gates: [{ scorer: "correct", variant: "brief", gate: "at least", bound: 0.7, verdict: "unsettled" }],
  };
  // Scores by row, variant and repetition; undefined: it failed.
  const scores: readonly (readonly (readonly (number | undefined)[])[])[] = [
    [
      [1, 1],
      [1, 1],
    ],
    [
      [0, 1],
      [1, 1],
    ],
    [
      [1, undefined],
      [1, 1],
    ],
    [
      [0, 0],
      [0, 0],
    ],
    [
      [1, 1],
      [0.9, 1],
    ],
    [
      [1, 1],
      [1, 1],
    ],
  ];
  const attempts = scores.flatMap((row, at) =>
    row.flatMap((cell, place) =>
      cell.map((value, n): AttemptView => {
        const variant = report.variants[place] ?? "";
        const of = { rowId: `row-${at + 1}`, variant, repetition: n + 1, usage, durationMs: 5, runIds: ["first"] };
        if (value === undefined) return { ...of, status: "failed", scores: { correct: { unscored: "rate_limit" } } };
        return { ...of, status: "answered", scores: { correct: { value } } };
      }),
    ),
  );
  return {
    list: async () => [report],
    report: async (id) => (id === report.runId ? report : undefined),
    async *attempts() {
      yield* attempts;
    },
  };
}

/** A viewer over three runs: the first, one like it with another answer, and one that failed. */
export async function viewed(isWithSlices = true) {
  const journal = memoryJournal();
  await record(journal, "first", { at: Date.now() - 600_000 });
  const other = review.with(2, { text: "Let me see.", toolCalls: [call("note_finding", { path: "c.ts" }, "x")] });
  await record(journal, "second", { steps: other.toSpliced(3, 1), at: Date.now() - 300_000 });
  await record(journal, "third", { steps: [{ failure: "provider", reason: "bad_request", message: hostile }] });
  const reader = journalRuns(journal, isWithSlices ? { slices: [notes] } : {});
  return { journal, reader, viewer: await opened(reader, { evals: evalResults() }) };
}
