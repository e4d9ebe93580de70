import { DefinitionError } from "@proviso/core";
import type { Eval, EvalReport, SavedRun } from "@proviso/evals";
import { messageOf } from "@proviso/core/internal";
import { makeFolder } from "@proviso/node/internal";
import { open, rm, stat, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { evalHelp, readEvalArguments } from "./eval-arguments.ts";
import { hasColours } from "./colours.ts";
import { importedModule } from "./load-module.ts";
import { installed } from "./optional-packages.ts";
import { progressOf } from "./progress.ts";
import { recordingFor } from "./recording.ts";
import { document, inOneLine } from "./terminal.ts";
import { didYouMean, shown, UsageError } from "./usage.ts";
import type { ExitCode, World } from "./world.ts";

type Evals = typeof import("@proviso/evals") & typeof import("@proviso/evals/node");
type Asked = Exclude<ReturnType<typeof readEvalArguments>, "help">;
type RunOptions = NonNullable<Parameters<Evals["runEval"]>[1]>;

/**
 * Runs `proviso eval …`.
 * @throws {UsageError} for wrong usage, a module without evals, and where the package is not installed.
 */
export async function evalCommand(args: readonly string[], world: World): Promise<ExitCode> {
  const asked = readEvalArguments(args);
  if (asked === "help") {
    world.out(evalHelp);
    return 0;
  }
  const packages = ["@proviso/evals", "@proviso/runtime"];
  const loading = Promise.all([import("@proviso/evals"), import("@proviso/evals/node")]);
  const [main, node] = await installed("proviso eval", packages, loading);
  const evals: Evals = { ...main, ...node };
  const wanted = await evalsIn(asked, evals, world);
  const compareWith = await forOneEval(asked, wanted, evals, world);
  const signal = world.interrupts.next();
  await using recording = asked.runs === undefined ? undefined : await recordingFor({ runs: asked.runs }, {}, world);
  const options = { ...asked.options, compareWith, journal: recording, signal, clock: world.clock };
  // No eval spends anything while another one cannot be run.
  for (const one of wanted)
    if (!signal.aborted) await evals.checkEval(one, options).catch(unlessAborted(signal, ofEval(one, wanted, asked)));
  const store = refused(() => evals.sqliteEvalStore(resolve(world.cwd, asked.store)));
  const reports: EvalReport[] = [];
  let fault: string | undefined;
  let saysWhere = (message: string): string => message;
  try {
    for (const one of wanted) {
      if (signal.aborted) break;
      saysWhere = ofEval(one, wanted);
      await ran(one, { asked, options: { ...options, store }, reports }, evals, world);
    }
  } catch (error) {
    // What is paid for is reported, whatever became of what came after it.
    if (reports.length === 0) unlessAborted(signal, saysWhere)(error);
    else fault = saysWhere(messageOf(error));
  } finally {
    await store.close();
  }
  const passes = !signal.aborted && fault === undefined && reports.every((report) => report.passes);
  const error = fault === undefined ? {} : { error: { code: "eval", message: inOneLine(fault) } };
  if (asked.isJson) world.out(document({ passes, reports, ...error }));
  if (fault !== undefined && !signal.aborted) world.err(inOneLine(fault));
  return exitCodeOf(reports, { passes, isAborted: signal.aborted, isPartFine: asked.isPartFine });
}

function exitCodeOf(
  reports: readonly EvalReport[],
  { passes, isAborted, isPartFine }: Pick<Asked, "isPartFine"> & Record<"passes" | "isAborted", boolean>,
): ExitCode {
  if (isAborted) return 130;
  if (reports.some(isUnknown)) return 2;
  if (!passes) return 1;
  return !isPartFine && reports.some(isCut) ? 3 : 0;
}

/** Whether a run found out nothing of a variant: no attempt was made, or one fault, or the surroundings, failed them all. */
function isUnknown(report: EvalReport): boolean {
  return report.attempts.length === 0 || report.ended?.why === "systemic" || whyUnmeasured(report).length > 0;
}

function whyUnmeasured({ variants }: EvalReport): readonly string[] {
  return Object.values(variants).flatMap(({ unmeasured }) => unmeasured ?? []);
}

/** Runs an eval, prints its report and writes what was asked for. */
async function ran(
  one: Eval,
  of: { readonly asked: Asked; readonly options: RunOptions; readonly reports: EvalReport[] },
  evals: Evals,
  world: World,
): Promise<void> {
  const { asked, options, reports } = of;
  const report = await reportOf(one, options, evals, world);
  reports.push(report);
  const look = { width: widthOf(world), color: hasColours(world.stdout, world.env) };
  if (!asked.isJson) world.out(evals.formatReport(report, look).trimEnd());
  if (report.ended !== undefined) world.err(inOneLine(`${one.name} ended early: ${report.ended.message}`));
  else {
    const hint = "Failed attempts are kept, and made again with --retry-failed.";
    for (const why of whyUnmeasured(report)) world.err(inOneLine(`${one.name}: ${why} ${hint}`));
  }
  await writeFiles(asked, report, evals, world);
}

/** Whether something ended a run before all attempts were made; where its gates were settled, nothing was missing. */
function isCut({ ended }: EvalReport): boolean {
  return ended !== undefined && ended.why !== "settled";
}

async function reportOf(of: Eval, options: RunOptions, { runEval }: Evals, world: World): Promise<EvalReport> {
  const progress = progressOf(world);
  try {
    return await runEval(of, {
      ...options,
      onProgress: (each) => progress.show(`${of.name}: ${progressText(each)}`),
    });
  } finally {
    progress.end();
  }
}

type EvalProgress = Parameters<NonNullable<RunOptions["onProgress"]>>[0];

function progressText({ done, total, reused, failed, unscored, spent, leftMs, pace }: EvalProgress): string {
  const counts = Object.entries({ kept: reused, failed, unscored }).filter(([, count]) => count > 0);
  const left = leftMs === undefined || done === total ? [] : [`${Math.ceil(leftMs / 1_000)} s left`];
  return [
    `${done} of ${total} attempts`,
    ...counts.map(([name, count]) => `${count} ${name}`),
    `${spent.totalTokens.toLocaleString("en-US")} tokens`,
    ...left,
    ...Object.entries(pace).map(([lane, perSecond]) => `${lane} at ${perSecond.toFixed(1)}/s`),
  ].join(", ");
}

/** Returns the saved run to compare with, once all files that are for one eval can be read or written. */
async function forOneEval(
  { compare, save, junit }: Asked,
  wanted: readonly Eval[],
  { readRun }: Evals,
  { cwd }: World,
): Promise<SavedRun | undefined> {
  const [flag] = Object.entries({ compare, save, junit }).find(([, file]) => file !== undefined) ?? [];
  if (flag !== undefined && wanted.length > 1) {
    const names = wanted.map(({ name }) => name).join(", ");
    throw new UsageError(`--${flag} is for one eval: name one of ${names} with --filter`);
  }
  // A run is saved beside its file and then put there; JUnit's XML is written into its own, a pipe say.
  if (save !== undefined) await assertWritable(resolve(cwd, save), (file) => `${file}.${process.pid}.tmp`);
  if (junit !== undefined) await assertWritable(resolve(cwd, junit), (file) => file);
  if (compare === undefined) return undefined;
  return readRun(resolve(cwd, compare)).catch(refuse);
}

/**
 * Makes the folder of a file that is written later, and looks whether `written` of it can be.
 * @throws {UsageError} where it cannot be written.
 */
async function assertWritable(file: string, written: (file: string) => string): Promise<void> {
  const folder = dirname(file);
  try {
    makeFolder(folder);
  } catch (error) {
    throw new UsageError(`the folder ${folder} cannot be made: ${messageOf(error)}`);
  }
  const there = await stat(file).catch(() => undefined);
  // A reader of a pipe would take it for its end if it was opened and closed.
  if (there !== undefined && !there.isFile() && !there.isDirectory()) return;
  const tried = written(file);
  try {
    // A folder cannot be opened so.
    if (there !== undefined) await (await open(file, "r+")).close();
    if (there !== undefined && tried === file) return;
    await (await open(tried, "wx")).close();
    await rm(tried);
  } catch (error) {
    throw new UsageError(`the file ${file} cannot be written: ${messageOf(error)}`);
  }
}

/** Writes what was asked for. A run that was cut short, or has measured nothing, is no baseline, so it is not saved. */
async function writeFiles(
  { save, junit }: Asked,
  report: EvalReport,
  { saveRun, writeRun, formatJUnit }: Evals,
  world: World,
): Promise<void> {
  if (junit !== undefined) await writeFile(resolve(world.cwd, junit), formatJUnit(report));
  if (save === undefined) return;
  const isUnmeasured = whyUnmeasured(report).length > 0;
  if (isCut(report) || isUnmeasured) {
    const why = isUnmeasured ? "nothing was measured of a variant" : "it ended before all attempts were made";
    world.err(inOneLine(`${report.name} is not saved: ${why}`));
    return;
  }
  await writeRun(resolve(world.cwd, save), saveRun(report));
}

function refused<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    return refuse(error);
  }
}

/** What an abort makes of a run that has not begun is no fault. */
function unlessAborted({ aborted }: AbortSignal, saysWhere: (message: string) => string): (error: unknown) => void {
  return (error) => {
    if (!aborted) refuse(error, saysWhere);
  };
}

function refuse(error: unknown, saysWhere = (message: string): string => message): never {
  throw error instanceof DefinitionError ? new UsageError(saysWhere(error.message)) : error;
}

/** Says of which eval a message is, where there are several. */
function ofEval({ name }: Eval, wanted: readonly Eval[], asked?: Asked): (message: string) => string {
  if (wanted.length === 1) return (message) => message;
  const hint = asked?.options.onlyRows === undefined ? "" : " --rows are of each eval: name one with --filter.";
  return (message) => `${name}: ${message}${hint}`;
}

/** A report is at least as wide as its numbers need. */
function widthOf({ stdout: { columns = 100 } }: World): number {
  return Math.max(80, columns);
}

/** The evals that modules export, each once. @throws {UsageError} where there is none. */
async function evalsIn({ files, filter }: Asked, { isEval }: Evals, { cwd }: World): Promise<readonly Eval[]> {
  const found = new Set<Eval>();
  for (const file of files) {
    const evals = Object.values(await importedModule(file, cwd)).filter(isEval);
    if (evals.length === 0) {
      throw new UsageError(`${file} exports no eval that was made by this installation's defineEval`);
    }
    for (const one of evals) found.add(one);
  }
  const wanted = [...found].filter(({ name }) => filter === undefined || name === filter);
  const twice = wanted.find((one) => wanted.some((other) => other !== one && other.name === one.name));
  if (twice !== undefined)
    throw new UsageError(`two evals are called ${shown(twice.name)}: give each a name of its own`);
  if (wanted.length > 0) return wanted;
  const names = [...found].map(({ name }) => name);
  throw new UsageError(
    `there is no eval ${shown(filter ?? "")}, but ${names.join(", ")}${didYouMean(filter ?? "", names)}`,
  );
}
