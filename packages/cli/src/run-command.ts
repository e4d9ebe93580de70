import { AbortedError, DefinitionError, isEvaluationFailure } from "@proviso/core";
import { printable } from "@proviso/core/internal";
import type {
  EvaluateOptions,
  EvaluationFailure,
  Prompt,
  PromptResponse,
  ProviderAdapter,
  Session,
  Usage,
} from "@proviso/core";
import { adapterFor } from "./adapter.ts";
import { seenOf, type Seen } from "./seen.ts";
import { configIn } from "./config.ts";
import { evaluateLimits, limitFlags, limitsHelp, limitsIn } from "./limits.ts";
import { boundPrompt } from "./params.ts";
import { promptAt } from "./prompts.ts";
import { flag, readArguments, text } from "./read-arguments.ts";
import { recordingFlags, recordingFor, recordingHelp, type Recording } from "./recording.ts";
import { document, inOneLine } from "./terminal.ts";
import { shown, UsageError } from "./usage.ts";
import type { ExitCode, World } from "./world.ts";

const help = `proviso run PROMPT: evaluates a prompt once and prints what the model answers

  PROMPT           a module that exports it, file.ts, or file.ts#name where there are several; or a text, file.md, whose
                   placeholders {{name}} are its params

  --param NAME=VALUE   a param, as often as there are some. What is no text by the prompt's schema is read as JSON
  --params FILE    all params as a JSON file; - for stdin
  --model MODEL    openai/<id> or litellm/<id>. Default: the adapter of proviso.config.ts
${limitsHelp}
${recordingHelp}
  --stream         prints the answer as it comes; with --json each event as a line
  --json           one JSON document
  --help

Ctrl-C ends the evaluation and prints what was answered; the second one ends the command at once.

Example: proviso run review.prompt.ts --param path=src --deadline 90s

Exit codes: 0 answered; 1 the evaluation failed; 2 wrong usage, and nothing was begun; 130 interrupted.`;

/** What `proviso run --json` prints, whether the evaluation answered or failed. */
export interface RunJson {
  /** The id of the recorded run; of the evaluation where nothing is recorded. Empty: it could not begin. */
  readonly runId: string;
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The model that answered, else the one that was asked; empty where none was. */
  readonly model: string;
  /** The parsed output, or the text; null where it failed. */
  readonly output: unknown;
  /** The text of the answer, also of one that was cut off; null where the output was parsed. */
  readonly text: string | null;
  /** What the run spent, evaluations inside its calls included. */
  readonly usage: Usage;
  /** Turns in which the model was asked: the last one of an evaluation that failed may have no answer. */
  readonly turns: number;
  /** Milliseconds. */
  readonly durationMs: number;
  /** Why it failed. Left out: it did not. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
}

const flags = {
  ...limitFlags,
  ...recordingFlags,
  param: { type: "string", multiple: true },
  params: text,
  model: text,
  stream: flag,
  json: flag,
  help: flag,
} as const;

/**
 * Runs `proviso run …`.
 * @throws {UsageError} for what keeps the evaluation from being begun.
 */
export async function runCommand(args: readonly string[], world: World): Promise<ExitCode> {
  const { values, positionals } = readArguments(args, flags);
  if (values.help === true) {
    world.out(help);
    return 0;
  }
  const [reference, ...others] = positionals;
  if (reference === undefined || others.length > 0) {
    throw new UsageError(
      `run takes one prompt, not ${reference === undefined ? "none" : positionals.map(shown).join(" ")}`,
    );
  }
  const limits = limitsIn(values);
  const found = await promptAt(reference, world.cwd);
  const prompt = await boundPrompt(found, { pairs: values.param ?? [], file: values.params }, world);
  const config = await configIn(world.cwd);
  const adapter = await adapterFor({ command: "run", model: values.model, config }, world);
  const signal = world.interrupts.next();
  const options = { ...evaluateLimits(limits, world.clock), signal };
  const print = { isJson: values.json === true, isStream: values.stream === true };
  await using recording = await recordingFor(values, config, world);
  const session = await newSession();
  const seen = seenOf(world, print, session);
  const outcome = await evaluated({ adapter, prompt, options: { ...options, session }, recording, seen });
  seen.end();
  const { error } = outcome;
  if (print.isJson && !print.isStream) world.out(document(jsonOf(outcome, prompt, seen)));
  if (!print.isJson) printForPeople(outcome, seen, print.isStream, world);
  if (error !== undefined) world.err(inOneLine(`${error.code}: ${error.message}`));
  if (error === undefined) return 0;
  return error instanceof AbortedError && signal.aborted ? 130 : 1;
}

/** A session that is followed. undefined: the runtime is not installed beside the adapter, which then makes its own. */
async function newSession(): Promise<Session | undefined> {
  try {
    return (await import("@proviso/runtime")).createSession();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  }
}

interface Evaluation {
  readonly adapter: ProviderAdapter;
  readonly prompt: Prompt;
  readonly options: EvaluateOptions;
  readonly recording: Recording | undefined;
  readonly seen: Seen;
}

interface Outcome {
  /** undefined: no run was recorded. */
  readonly runId: string | undefined;
  readonly response?: PromptResponse<unknown> | undefined;
  readonly error?: EvaluationFailure | undefined;
}

async function evaluated(evaluation: Evaluation): Promise<Outcome> {
  const { adapter, prompt, options, recording, seen } = evaluation;
  const run = recording?.run();
  try {
    const stream = adapter.stream(prompt, { ...options, run });
    for await (const event of stream) seen.add(event);
    return { runId: run?.id, response: await stream.response };
  } catch (error) {
    const hasBegun = seen.facts().evaluationId !== "";
    if (error instanceof DefinitionError && options.session !== undefined && !hasBegun) {
      // An adapter of another copy of the runtime makes a session of its own.
      return evaluated({ ...evaluation, options: { ...options, session: undefined } });
    }
    if (!isEvaluationFailure(error)) throw error;
    // What cannot begin leaves no run. Where the record cannot be read, the evaluation's own error is what is reported.
    const isRecorded = run !== undefined && (await recording?.has(run.id).catch(() => hasBegun)) === true;
    return { runId: isRecorded ? run.id : undefined, error };
  }
}

function jsonOf({ runId, response, error }: Outcome, prompt: Prompt, seen: Seen): RunJson {
  const { model, evaluationId, ...facts } = seen.facts();
  const common = { runId: runId ?? evaluationId, promptName: prompt.template.name, ...facts };
  if (response !== undefined) {
    const { output, text } = response;
    return { ...common, model: response.model, output, text };
  }
  if (error === undefined) throw new TypeError("An evaluation answers or fails.");
  const { code, message } = error;
  return { ...common, model, output: null, text: seen.text() || null, error: { code, message } };
}

function printForPeople({ runId, response, error }: Outcome, seen: Seen, isStream: boolean, world: World): void {
  const wasShown = isStream && seen.text() !== "";
  if (!wasShown && response !== undefined) {
    const { output } = response;
    world.out(printable(typeof output === "string" ? output : JSON.stringify(output, undefined, 2)));
  }
  if (!wasShown && error instanceof AbortedError && seen.text() !== "") world.out(printable(seen.text()));
  const { model, turns, durationMs, usage } = seen.facts();
  // Nothing was begun: the error says why.
  if (model === "" && runId === undefined) return;
  const least = usage.unpricedTokens === undefined ? "" : "at least ";
  const dollars = usage.costUsd === undefined ? "" : `, ${least}${usage.costUsd.toFixed(4)} dollars`;
  const spent = `${turns} ${turns === 1 ? "turn" : "turns"}, ${usage.totalTokens} tokens${dollars}, ${(durationMs / 1000).toFixed(1)} s`;
  world.err(inOneLine(`${model === "" ? "" : `${model}: `}${spent}${runId === undefined ? "" : `, run ${runId}`}`));
}
