import {
  systemClock,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import { failureRedactor } from "@proviso/adapter-kit";
import { basename } from "node:path";
import { fromOutput, payloadOf } from "./from-output.ts";
import { whyNotStarted } from "@proviso/node/internal";
import { checkOptions, environmentFor, secretsOf, type CheckedOptions, type CommandLineOptions } from "./options.ts";
import { largestOutput, runCommand, type Ended } from "./run-command.ts";
import { toPrompt } from "./to-prompt.ts";

/**
 * Makes the model alone, without an adapter, for code that wraps it to record, route or count requests.
 * @throws {DefinitionError} for an option that cannot be.
 */
export function commandLineModel(given: CommandLineOptions): ModelProvider {
  const options = checkOptions(given);
  const redact = failureRedactor(secretsOf(options));
  return Object.freeze({
    name: "command-line",
    model: basename(options.command),
    capabilities: Object.freeze({ tools: true, nativeOutput: false }),
    generate: async (request: ModelRequest) => {
      const answer = await generate(options, request);
      // The command may have printed what it was given.
      return answer.failure === undefined ? answer : redact(answer);
    },
  });
}

async function generate(options: CheckedOptions, request: ModelRequest): Promise<ModelResponse | ModelFailure> {
  const { command, args, cwd, timeoutMs, clock = systemClock } = options;
  const { signal } = request;
  signal.throwIfAborted();
  const run = { command, args, cwd, variables: environmentFor(options) };
  const ended = await runCommand(run, toPrompt(request), { signal, timeoutMs, clock });
  if (ended.stop === "aborted") throw signal.reason;
  const failure = failureOf(ended, options);
  if (failure !== undefined) return failure;
  const answer = fromOutput(ended.stdout, ended.stderr);
  if (answer.failure === undefined && answer.message.text !== "") {
    request.onDelta?.({ kind: "text", text: answer.message.text });
  }
  return answer;
}

function failureOf(ended: Ended, { command, cwd, timeoutMs }: CheckedOptions): ModelFailure | undefined {
  const { exitCode, signal, stdout, stderr, stop, notStarted, unread } = ended;
  const name = JSON.stringify(command);
  const failed = (what: string, cause?: unknown): ModelFailure => ({
    failure: "process",
    exitCode,
    signal,
    stderr,
    message: `The command ${name} ${what}`,
    payload: payloadOf(stdout, stderr),
    cause,
  });
  if (notStarted !== undefined) return failed(whyNotStarted(notStarted, command, cwd), notStarted);
  if (stop === "flooded")
    return failed(`was ended: it printed more than ${largestOutput} bytes.${stderrShown(stderr)}`);
  if (stop === "timeout") {
    const message = `The command ${name} did not answer within ${timeoutMs} ms.${stderrShown(stderr)}`;
    return {
      failure: "throttle",
      kind: "timeout",
      message,
      payload: { exitCode, signal, ...payloadOf(stdout, stderr) },
    };
  }
  if (signal !== null) return failed(`was ended by ${signal}.${stderrShown(stderr)}`);
  if (exitCode !== 0) return failed(`exited with code ${exitCode}.${stderrShown(stderr)}`);
  if (unread)
    return failed(
      `closed its standard input before it had read the prompt: let it read to the end.${stderrShown(stderr)}`,
    );
  return undefined;
}

/** Characters of standard error in a message. */
const shownLength = 500;

export function stderrShown(stderr: string): string {
  const text = stderr.trim();
  if (text === "") return "";
  return ` It printed: ${text.length > shownLength ? "…" : ""}${text.slice(-shownLength)}`;
}
