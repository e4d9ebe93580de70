import {
  deadlineIn,
  errorReason,
  Filesystem,
  isEvaluationFailure,
  provide,
  type EvaluationFailure,
} from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { openai } from "@proviso/adapter-openai";
import { startSimulator } from "@proviso/simulator";
import { help, readSettings, shortPath, UsageError, type Settings } from "./command-line.ts";
import { showProgress } from "./progress.ts";
import { chooseRun, openRecord, viewCommand } from "./recorded.ts";
import { provisosText, reviewText } from "./report.ts";
import { notes, review } from "./review-prompt.ts";
import { simulatedReviewer } from "./simulated-reviewer.ts";
import { printable } from "./text.ts";

/** After a signal, whatever still hangs is left behind. */
const longestGoodbyeMs = 60;

const stopping = new AbortController();
let exitCode = 0;
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.on(signal, () => {
    exitCode = code;
    stopping.abort();
    setTimeout(() => process.exit(code), longestGoodbyeMs).unref();
  });
}
// A reader that has seen enough (| head) is no failure; a full disk is one.
process.stdout.on("error", ({ code }: NodeJS.ErrnoException) => {
  if (code === "EPIPE") process.exit(exitCode);
  console.error(`code-review: the output could not be written (${code}).`);
  process.exit(1);
});
// The review does not depend on anybody reading the notices.
process.stderr.on("error", () => {});

try {
  const wanted = await readSettings(process.argv.slice(2), process.env);
  if (wanted === "help") console.log(help);
  else if ("view" in wanted) await (await import("./view.ts")).view(wanted.view, stopping.signal);
  else await run(wanted.review);
} catch (error) {
  exitCode ||= error instanceof UsageError ? 2 : 1;
  if (!stopping.signal.aborted) console.error(`code-review: ${oneLine(error)}`);
}
process.exitCode = exitCode;

async function run(settings: Settings): Promise<void> {
  const { folder, api, model, baseURL, deadlineMs, budget, latencyMs, json, resume, runs } = settings;
  const notices = json ? process.stderr : process.stdout;
  await using journal = openRecord(runs);
  const request = `Review the code in ${shortPath(folder)}.`;
  await using simulator =
    settings.apiKey === undefined ? await startSimulator({ rules: [simulatedReviewer], latencyMs }) : undefined;
  notices.write(
    simulator === undefined
      ? `Reviewing ${shortPath(folder)} with ${model} at ${baseURL ?? "OpenAI"}.\n`
      : `No OPENAI_API_KEY: a simulated reviewer (rules, not a model) on ${simulator.baseURL} reviews ${shortPath(folder)}.\n`,
  );
  const { id, steps } = await chooseRun(journal, request, resume);
  if (steps !== undefined) notices.write(`Going on with ${id}, after ${counted(steps, "step")} of it.\n`);
  else if (resume) notices.write("No review of this folder was interrupted: a new one begins.\n");
  const connection =
    simulator === undefined ? { apiKey: settings.apiKey, baseURL } : { apiKey: "none", baseURL: simulator.baseURL };
  const adapter = openai({ model, api, ...connection, throttle: { maxAttempts: 4 } });
  // The same in every attempt: a listener sees what is new, and the state has everything.
  const session = createSession({ id: `session of ${id}` });
  const deadline = deadlineIn(deadlineMs);
  const clearProgress = showProgress(session, deadline, notices);
  try {
    const response = await adapter.evaluate(review.bind({ request }), {
      session,
      run: journal.run(id),
      deadline,
      budget: { maxTotalTokens: budget },
      signal: stopping.signal,
      resources: [provide(Filesystem, hostFilesystem(folder, { readOnly: true }))],
    });
    clearProgress();
    const provisos = provisosText(response, { deadline, deadlineMs, budget, notes: session.get(notes) });
    if (json) process.stdout.write(`${JSON.stringify(response.output, null, 2)}\n`);
    else process.stdout.write(`\n${reviewText(response.output, process.stdout.columns ?? 100)}\n`);
    notices.write(`${provisos}\n\nLook at this run: ${viewCommand(id, runs)}\n`);
  } finally {
    clearProgress();
  }
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function oneLine(error: unknown): string {
  const text = isEvaluationFailure(error) ? explain(error) : error instanceof Error ? error.message : String(error);
  return printable(text.replaceAll(/\s*\n\s*/g, " "));
}

/** What went wrong and what to do, by the error's fields. */
function explain(error: EvaluationFailure): string {
  switch (error.code) {
    case "deadline":
      return `the deadline passed after ${error.toolResults.length} tool calls; give it more with --deadline-ms.`;
    case "budget":
      return `the budget of tokens is spent (${error.usage.totalTokens}); give it more with --budget.`;
    case "throttled":
      if (error.kind === "network" || error.kind === "unknown")
        return `the provider cannot be reached: ${error.message}`;
      if (error.kind === "timeout") return `the provider did not answer in time: ${error.message}`;
      return `the provider refused (${error.kind})${error.retryAfterMs === undefined ? "" : `; ask again in ${error.retryAfterMs} ms`}.`;
    case "provider":
      if (error.reason === "api_key") return `the key was refused: ${error.message} Check OPENAI_API_KEY.`;
      return `${errorReason(error)}: ${error.message}`;
    case "aborted":
    case "internal":
    case "deadlock":
    case "listener":
    case "option":
    case "output":
    case "process":
    case "render":
    case "restore":
    case "run":
    case "turns":
      return error.message;
  }
}
