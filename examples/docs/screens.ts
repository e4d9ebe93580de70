// pnpm screens [folder]: takes the pictures of docs/viewer.md by a real Chromium, light and dark. Look at each before it is
// committed. What they show are real runs: the recorded ones of the examples, two that failed, and the eval of the mails.
import { openai } from "@proviso/adapter-openai";
import { Filesystem, isEvaluationFailure, provide } from "@proviso/core";
import { runEval, type EvalReport } from "@proviso/evals";
import { memoryJournal } from "@proviso/journal";
import { memoryFilesystem } from "@proviso/runtime";
import { startSimulator, type SimulatorRule } from "@proviso/simulator";
import { journalRuns, startViewer, type AttemptView, type EvalReader, type EvalView } from "@proviso/viewer";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findChromium, startChromium, type Page } from "../../scripts/chromium.ts";
import { buildPage } from "../../scripts/page.ts";
import { notes, review } from "../code-review/review-prompt.ts";
import { goldens, reviewed } from "../golden/runs.ts";
import { spam } from "../spam-eval/spam.eval.ts";

const into = process.argv[2] ?? new URL("../../docs/pictures", import.meta.url).pathname;
const executable = findChromium();
if (executable === undefined) throw new Error("There is no Chromium: name one in CHROMIUM, or install the package.");
mkdirSync(into, { recursive: true });

const journal = memoryJournal();
await recordRuns();
const report = await runEval(spam, { sampleSize: 60, concurrency: 8, seed: 1 });
await buildPage();
const runs = journalRuns(journal, { slices: [notes] });
await using viewer = await startViewer({ runs, evals: readerOf(report) });
await takePictures();
console.log(`The pictures are in ${into}.`);

/** The examples, then a later review that the service refused once, and one that failed. */
async function recordRuns(): Promise<void> {
  for (const { rule, record } of Object.values(goldens)) {
    await using simulator = await startSimulator({ rules: [rule] });
    await record(adapterOf(simulator.baseURL), journal);
  }
  const { rule } = goldens["code-review"]!;
  const refusal = { status: 429, headers: { "retry-after-ms": "1200" }, body: { error: { message: "Slow down." } } };
  let refused = false;
  const once: SimulatorRule = ({ index }) => {
    if (index !== 2 || refused) return undefined;
    refused = true;
    return refusal;
  };
  const broken: SimulatorRule = ({ index }) =>
    index < 2 ? undefined : { status: 400, body: { error: { message: "The context is too long." } } };
  for (const [id, rules] of [
    ["code-review-later", [once, rule]],
    ["code-review-broken", [broken, rule]],
  ] as const) {
    await using simulator = await startSimulator({ rules });
    const prompt = review.bind({ request: "Review the code." });
    const budget = { maxTotalTokens: 5_000 };
    // A line was mended since the first review.
    const files = { ...reviewed, "src/log.ts": "/** Prints. */\nexport const log = (text: string) => print(text);\n" };
    const resources = [provide(Filesystem, memoryFilesystem(files))];
    await adapterOf(simulator.baseURL)
      .evaluate(prompt, { run: journal.run(id), resources, budget })
      .catch((error: unknown) => {
        if (!isEvaluationFailure(error)) throw error;
      });
  }
}

function adapterOf(baseURL: string) {
  return openai({ model: "simulated", baseURL, apiKey: "none" });
}

/** The results of an eval, as the viewer reads them. */
function readerOf({
  runId,
  name,
  startedAt,
  rows,
  variants,
  differences,
  gates,
  attempts,
  ...more
}: EvalReport): EvalReader {
  const { repetitions, baseline } = more;
  const scores = Object.fromEntries(Object.entries(variants).map(([variant, of]) => [variant, of.scores]));
  const view: EvalView = {
    name,
    runId,
    startedAt,
    status: "done",
    rows,
    repetitions,
    baseline,
    scores,
    differences,
    variants: Object.keys(variants),
    gates: gates.map(({ scorer, variant, gate, bound, verdict }) => ({ scorer, variant, gate, bound, verdict })),
  };
  const shown = attempts.map(({ rowId, variant, repetition, status, scores: of, usage, durationMs }): AttemptView => ({
    rowId,
    variant,
    repetition,
    status,
    scores: of,
    usage,
    durationMs,
    runIds: [],
  }));
  return {
    list: async () => [view],
    report: async (id) => (id === runId ? view : undefined),
    async *attempts() {
      yield* shown;
    },
  };
}

async function takePictures(): Promise<void> {
  const browser = await startChromium(executable!);
  try {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({
        colorScheme,
        viewport: { width: 1_200, height: 720 },
        locale: "en-GB",
      });
      const page = await context.newPage();
      await page.goto(viewer.url);
      const taken = async (name: string, hash: string, shown: string): Promise<void> => {
        await page.evaluate(`void (location.hash = ${JSON.stringify(hash)})`);
        await page.locator(shown).first().waitFor();
        await settled(page);
        await page.screenshot({ path: join(into, `viewer-${name}-${colorScheme}.png`) });
      };
      const undone = await rowOf("code-review-later", "take_note {", "undone");
      const kept = await rowOf("code-review-later", "take_note {", "done");
      await taken("runs", "#/", "tbody tr");
      await taken("run", `#/run/code-review-later?row=${undone}`, ".side");
      await taken("state", `#/run/code-review-later?tab=state&row=${kept}`, ".side");
      await taken("compare", "#/compare?a=code-review&b=code-review-later", ".first");
      await taken("matrix", `#/eval/${encodeURIComponent(report.runId)}`, "tbody tr");
      await context.close();
    }
  } finally {
    await browser.close();
  }
}

/** The number of the first row of a tool that came to that, as an address names it. */
async function rowOf(id: string, tool: string, status: string): Promise<number> {
  const [, token = ""] = viewer.url.split("#t=");
  const url = new URL(`/api/run/${id}/rows`, viewer.url);
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  const { rows } = (await response.json()) as { rows: { title: string; status: string }[] };
  const place = rows.findIndex((row) => row.title.startsWith(tool) && row.status === status);
  if (place === -1) throw new Error(`The run ${id} has no ${status} call of ${tool}.`);
  return place + 1;
}

/** Until what is asked of the server has been shown. */
async function settled(page: Page): Promise<void> {
  await page.evaluate(
    "new Promise((done) => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 400))",
  );
}
