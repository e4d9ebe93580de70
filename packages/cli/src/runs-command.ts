import { JournalError, type RunReader, type RunRecord, type RunSummary } from "@proviso/core";
import { printable } from "@proviso/core/internal";
import { paintFor, type Paint } from "./colours.ts";
import { runsPath } from "./config.ts";
import { installed } from "./optional-packages.ts";
import { noRun, readRunsArguments, runsHelp, type RunsRequest } from "./runs-arguments.ts";
import { document, inOneLine, table } from "./terminal.ts";
import { UsageError } from "./usage.ts";
import type { World } from "./world.ts";

/** What was asked for, and did not come about. */
interface Refused {
  readonly code: string;
  readonly message: string;
}

/** What a command came to: a document for programs, and lines for people. */
interface Outcome {
  readonly document: unknown;
  readonly lines: readonly string[];
  readonly exitCode: 0 | 1;
}

type Viewer = typeof import("@proviso/viewer/runs");

/**
 * Runs `proviso runs …` and returns the exit code.
 * @throws {UsageError} for wrong usage, a journal that cannot be read, and where the viewer is not installed.
 */
export async function runsCommand(args: readonly string[], world: World): Promise<0 | 1> {
  const { out, err, cwd } = world;
  const request = readRunsArguments(args);
  if (request === "help") {
    out(runsHelp);
    return 0;
  }
  const { command } = request;
  if (command === "replay") return (await import("./replay-command.ts")).replayCommand(request, world);
  const { openRuns, viewer } = await loadViewer();
  const path = await runsPath(request.path, cwd);
  let outcome: Outcome | Refused;
  try {
    await using reader = openRuns(path);
    outcome = await commands[command](reader, request, { viewer, paint: paintFor(world.stdout, world.env) });
  } catch (error) {
    if (error instanceof JournalError) throw new UsageError(error.message);
    throw error;
  }
  if ("message" in outcome) {
    if (request.isJson) out(document({ error: outcome }));
    err(inOneLine(outcome.message));
    return 1;
  }
  if (request.isJson) out(document(outcome.document));
  else for (const line of outcome.lines) out(line);
  return outcome.exitCode;
}

async function loadViewer() {
  const loading = Promise.all([import("@proviso/viewer"), import("@proviso/viewer/runs")]);
  const packages = ["@proviso/viewer", "@proviso/journal", "@proviso/runtime"];
  const [{ openRuns }, viewer] = await installed("proviso runs", packages, loading);
  return { openRuns, viewer };
}

/** What a command has beside the runs. */
interface Tools {
  readonly viewer: Viewer;
  readonly paint: Paint;
}

type Command = (reader: RunReader, request: RunsRequest, tools: Tools) => Promise<Outcome | Refused>;

const commands: Readonly<Record<Exclude<RunsRequest["command"], "replay">, Command>> = { list, show, diff };

async function list(reader: RunReader, { query }: RunsRequest): Promise<Outcome> {
  const { runs, cursor } = await reader.list(query);
  const head = ["started", "run", "prompt", "model", "turns", "calls", "undone", "waits", "tokens", "$", "took"];
  const lines = table(
    [...head, "status"],
    runs.map((run) => [
      new Date(run.startedAt).toISOString().slice(0, 19).replace("T", " "),
      run.runId,
      run.promptName,
      run.model,
      run.turns,
      run.toolCalls,
      run.undone,
      run.waits,
      run.usage.totalTokens,
      dollars(run),
      took(run),
      statusOf(run),
    ]),
  );
  const more = cursor === undefined ? [] : [`There are more: --limit shows up to 500, --text and --status find some.`];
  return { document: { runs, cursor }, lines: runs.length === 0 ? ["No runs."] : [...lines, ...more], exitCode: 0 };
}

async function show(
  reader: RunReader,
  { ids }: RunsRequest,
  { viewer: { runRows }, paint }: Tools,
): Promise<Outcome | Refused> {
  const [id = ""] = ids;
  const summary = await reader.summary(id);
  if (summary === undefined) return noRun(id);
  const outline = runRows();
  const texts = new Map<number, string>();
  for await (const record of reader.records(id)) {
    outline.add(record);
    if (record.kind !== "event") continue;
    const { event } = record;
    if (event.type === "provider.responded") texts.set(record.n, event.text);
    if (event.type === "tool.invoked") texts.set(record.n, event.result.message);
  }
  const { rows } = outline;
  const lines = rows.flatMap(({ kind, status, title, depth, until }) => {
    const place = "  ".repeat(depth);
    const plain = `${place}${kind.padEnd(9)} ${status.replace("-", " ").padEnd(8)} ${inOneLine(title)}`;
    const line = status === "undone" || status === "failed" ? paint(status, plain) : plain;
    // A text that the line holds already is not shown again.
    const text = kind === "turn" || kind === "call" ? (texts.get(until) ?? "").trim() : "";
    if (text === "" || text === title) return [line];
    return [
      line,
      ...printable(text)
        .split("\n")
        .map((part) => `${place}          | ${part}`),
    ];
  });
  const { turns, toolCalls, undone, waits, usage } = summary;
  const counts = `${turns} turns, ${toolCalls} calls, ${undone} undone, ${waits} waits`;
  const spent = `${usage.totalTokens} tokens, ${dollars(summary)} dollars, ${took(summary)}, ${statusOf(summary)}`;
  const totals = inOneLine(`${summary.promptName} on ${summary.model}: ${counts}, ${spent}`);
  return { document: { summary, rows }, lines: [...lines, "", paint("beside", totals)], exitCode: 0 };
}

async function diff(
  reader: RunReader,
  { ids }: RunsRequest,
  { viewer: { compareRuns }, paint }: Tools,
): Promise<Outcome | Refused> {
  const [one = "", other = ""] = ids;
  for (const id of ids) if ((await reader.summary(id)) === undefined) return noRun(id);
  const compared = compareRuns(await recordsOf(reader, one), await recordsOf(reader, other));
  const { parted, steps, usage } = compared;
  const tokens = `tokens ${usage.a.totalTokens} and ${usage.b.totalTokens}`;
  if (parted === undefined) {
    return { document: compared, lines: [`The same for all ${steps.length} steps; ${tokens}.`], exitCode: 0 };
  }
  const what = parted.what === "length" ? "where one of them ends" : `the ${parted.what}`;
  const { a, b } = steps[parted.at] ?? {};
  const side = (mark: string, row: typeof a): string =>
    row === undefined
      ? `${mark} (nothing)`
      : `${mark} ${row.kind} ${row.status.replace("-", " ")} ${inOneLine(row.title)}`;
  const [before, after] = [side("-", a), side("+", b)];
  const titles = [paint("removed", before), paint("added", after)];
  // The title of a call has its arguments, unless they are long.
  const isShown = before.slice(1) !== after.slice(1);
  const { differing } = parted;
  const texts =
    differing === undefined || (isShown && parted.what === "call")
      ? []
      : [paint("removed", valueLine("-", differing.a)), paint("added", valueLine("+", differing.b))];
  const lines = [
    `They part at step ${parted.at}, ${what}; ${tokens}.`,
    ...(isShown || texts.length === 0 ? titles : [` ${before.slice(1)}`]),
    ...texts,
  ];
  return { document: compared, lines, exitCode: 1 };
}

function valueLine(mark: string, text: string): string {
  return `${mark}   ${text === "" ? "(nothing)" : inOneLine(text)}`;
}

async function recordsOf(reader: RunReader, id: string): Promise<readonly RunRecord[]> {
  const records: RunRecord[] = [];
  for await (const record of reader.records(id)) records.push(record);
  return records;
}

function statusOf({ status, error }: RunSummary): string {
  return error === undefined ? status : `${status} ${error.code}`;
}

function dollars({ usage: { costUsd, unpricedTokens } }: RunSummary): string {
  if (costUsd === undefined) return "-";
  return unpricedTokens === undefined ? costUsd.toFixed(4) : `≥${costUsd.toFixed(4)}`;
}

function took({ startedAt, endedAt }: RunSummary): string {
  return endedAt === undefined ? "-" : `${((endedAt - startedAt) / 1000).toFixed(1)} s`;
}
