import { AbortedError, isEvaluationFailure, trackBudget } from "@proviso/core";
import type { EvaluateOptions, Message, ProviderAdapter } from "@proviso/core";
import { adapterFor } from "./adapter.ts";
import { seenOf } from "./seen.ts";
import { chatPrompt, type ChatPrompt } from "./chat-prompt.ts";
import { configIn } from "./config.ts";
import { fired } from "./interrupts.ts";
import { evaluateLimits, limitFlags, limitsHelp, limitsIn } from "./limits.ts";
import { linesOf } from "./lines.ts";
import { installed } from "./optional-packages.ts";
import { flag, readArguments, text } from "./read-arguments.ts";
import { recordingFlags, recordingFor, recordingHelp, type Recording } from "./recording.ts";
import { inOneLine } from "./terminal.ts";
import { shown, UsageError } from "./usage.ts";
import type { ExitCode, World } from "./world.ts";

const help = `proviso chat [PROMPT]: talks with a model, line by line

  PROMPT           a module that exports a prompt, file.ts or file.ts#name: each line is the value of the one param that
                   is not given; or a text, file.md, which the model reads as instructions. Default: none

  --param NAME=VALUE   a param, as often as there are some
  --message NAME   the param that each line is the value of
  --model MODEL    openai/<id> or litellm/<id>. Default: the adapter of proviso.config.ts
${limitsHelp.replace("it has ended by then", "each turn has ended by then").replace("all requests", "the whole chat")}
${recordingHelp.replace("records it", "records each turn")}
  --help

Session and messages go on from turn to turn. Ctrl-C ends a turn; where the next line is waited for it ends the chat, as
Ctrl-D does.

Example: proviso chat support.prompt.ts --param language=English

Exit codes: 0 ended; 1 a turn failed, where the lines come from a file or a pipe; 2 wrong usage.`;

const flags = {
  ...limitFlags,
  ...recordingFlags,
  param: { type: "string", multiple: true },
  message: text,
  model: text,
  help: flag,
} as const;

/**
 * Runs `proviso chat …`.
 * @throws {UsageError} for what keeps the chat from being begun.
 */
export async function chatCommand(args: readonly string[], world: World): Promise<ExitCode> {
  const { values, positionals } = readArguments(args, flags);
  if (values.help === true) {
    world.out(help);
    return 0;
  }
  if (positionals.length > 1) throw new UsageError(`chat takes one prompt, not ${positionals.map(shown).join(" ")}`);
  const { deadlineMs, budget } = limitsIn(values);
  const given = { reference: positionals[0], pairs: values.param ?? [], message: values.message };
  const prompt = await chatPrompt(given, world);
  const config = await configIn(world.cwd);
  const adapter = await adapterFor({ command: "chat", model: values.model, config }, world);
  const runtime = await installed("proviso chat", ["@proviso/runtime"], import("@proviso/runtime"));
  await using recording = await recordingFor(values, config, world);
  const options = {
    session: runtime.createSession({ slices: prompt.slices }),
    budget: budget === undefined ? undefined : trackBudget(budget),
  };
  let messages: readonly Message[] = [];
  let hasFailed = false;
  const lines = linesOf(world.stdin);
  for (;;) {
    const line = await nextLine(lines, world);
    // An answer costs, and no reader is there.
    if (line === undefined || (world.stdout.errored ?? null) !== null) break;
    if (line.trim() === "") continue;
    const limits = evaluateLimits({ deadlineMs, budget: undefined }, world.clock);
    const signal = world.interrupts.next();
    const turn = { adapter, prompt, line, recording, options: { ...limits, ...options, messages, signal } };
    const ended = await turnOf(turn, world);
    ({ messages } = ended);
    hasFailed ||= ended.hasFailed;
  }
  return hasFailed && world.stdin.isTTY !== true ? 1 : 0;
}

/** undefined: the chat ends, at its end of input or at an interruption. */
async function nextLine(
  lines: AsyncIterator<string>,
  { stdin, stderr, interrupts }: World,
): Promise<string | undefined> {
  const isTerminal = stdin.isTTY === true;
  if (isTerminal) stderr.write("> ");
  const line = lines.next().then(({ done, value }) => (done === true ? undefined : (value as string)));
  const next = await Promise.race([line, fired(interrupts.next()).then(() => undefined)]);
  if (next === undefined && isTerminal) stderr.write("\n");
  return next;
}

interface Turn {
  readonly adapter: ProviderAdapter;
  readonly prompt: ChatPrompt;
  readonly line: string;
  readonly recording: Recording | undefined;
  readonly options: EvaluateOptions & { readonly messages: readonly Message[] };
}

async function turnOf(
  turn: Turn,
  world: World,
): Promise<{ readonly messages: readonly Message[]; readonly hasFailed: boolean }> {
  const { adapter, prompt, line, recording, options } = turn;
  const seen = seenOf(world, { isJson: false, isStream: true });
  try {
    const stream = adapter.stream(await prompt.bind(line), { ...options, run: recording?.run() });
    for await (const event of stream) seen.add(event);
    const { messages } = await stream.response;
    seen.end();
    return { messages, hasFailed: false };
  } catch (error) {
    seen.end();
    if (!isEvaluationFailure(error)) throw error;
    world.err(inOneLine(`${error.code}: ${error.message}`));
    const isStopped = error instanceof AbortedError && options.signal?.aborted === true;
    return { messages: error.messages.length > 0 ? error.messages : options.messages, hasFailed: !isStopped };
  }
}
