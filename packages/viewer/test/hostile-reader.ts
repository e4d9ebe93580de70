// A reader whose every text is what a page could take for code: whoever implements RunReader may return any.
import type { AttemptView, EvalReader, EvalView, RunReader } from "@proviso/core";
import { hostile } from "./viewer-support.ts";

/** Fields that say what something is, not what someone wrote. */
const words = new Set(["kind", "type", "status", "role", "op", "finishReason", "part", "shown", "verdict", "output"]);

/** The value with the hostile text behind each text of it, names of fields included. */
function hostileIn<T>(value: T, key = ""): T {
  if (typeof value === "string") return (words.has(key) || key === "runId" ? value : value + hostile) as T;
  if (Array.isArray(value)) return value.map((one: unknown) => hostileIn(one, key)) as T;
  if (typeof value !== "object" || value === null) return value;
  const isOfProgram = ["params", "value", "scores", "differences"].includes(key);
  return Object.fromEntries(
    Object.entries(value).map(([name, one]: [string, unknown]) => [
      isOfProgram ? name + hostile : name,
      hostileIn(one, isOfProgram ? "" : name),
    ]),
  ) as T;
}

/** Reads as another reader does. Ids of runs are the addresses of the page, and are hostile elsewhere. */
export function hostileReader(reader: RunReader): RunReader {
  return {
    async list(query) {
      return hostileIn(await reader.list({ ...query, text: undefined }));
    },
    async summary(id) {
      return hostileIn(await reader.summary(id));
    },
    async *records(id, query) {
      for await (const record of reader.records(id, query)) {
        // A patch has to fit the state that it is made for.
        yield record.kind === "state" ? record : hostileIn(record);
      }
    },
    follow: (query) => reader.follow(query),
  };
}

/** An eval of which names of variants, scorers and rows, labels and reasons are hostile. */
export function hostileEvals(): EvalReader {
  const interval = { value: 0.5, low: 0.4, high: 0.6, confidence: 0.95 };
  const [now, brief, correct] = [`now ${hostile}`, `brief ${hostile}`, `correct ${hostile}`];
  const report: EvalView = {
    name: `review ${hostile}`,
    runId: "hostile",
    startedAt: hostile,
    status: "done",
    rows: 2,
    variants: [now, brief],
    repetitions: 1,
    baseline: { saved: hostile },
    scores: { [now]: { [correct]: interval }, [brief]: { [correct]: interval } },
    differences: { [brief]: { [correct]: interval } },
    gates: [{ scorer: correct, variant: brief, gate: hostile, bound: 0.7, verdict: "failed" }],
  };
  const usage = {
    inputTokens: 1,
    outputTokens: 1,
    totalTokens: 2,
    cachedInputTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: 0,
    estimated: false,
  };
  const attempts = [now, brief].flatMap((variant): readonly AttemptView[] => [
    {
      rowId: `row ${hostile}`,
      label: hostile,
      variant,
      repetition: 1,
      status: "failed",
      scores: { [correct]: { unscored: hostile } },
      usage,
      durationMs: 1,
      runIds: [`first ${hostile}`],
    },
  ]);
  return {
    list: async () => [report],
    report: async () => report,
    async *attempts() {
      yield* attempts;
    },
  };
}
