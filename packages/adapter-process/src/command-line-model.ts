import {
  systemClock,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import { failureRedactor, settingsHash } from "@proviso/adapter-kit";
import { endOf, type Secrets } from "@proviso/runtime/internal";
import { basename } from "node:path";
import { fromOutput, payloadOf } from "./from-output.ts";
import { whyNotStarted } from "@proviso/node/internal";
import {
  checkOptions,
  environmentFor,
  openedSecretsOf,
  secretsOf,
  type CheckedOptions,
  type CommandLineOptions,
} from "./options.ts";
import { largestOutput, runCommand, type Ended } from "./run-command.ts";
import { toPrompt } from "./to-prompt.ts";

/**
 * Makes the model alone, without an adapter, for code that wraps it to record, route or count requests.
 * @throws {DefinitionError} for an option that cannot be.
 */
export function commandLineModel(given: CommandLineOptions): ModelProvider {
  const options = checkOptions(given);
  const redact = failureRedactor(secretsOf(options));
  const secrets = openedSecretsOf(options);
  const { command, args, env } = options;
  return Object.freeze({
    name: "command-line",
    model: basename(command),
    settingsHash: settingsHash({ command, args, env }, secretsOf(options)),
    capabilities: Object.freeze({ tools: true, nativeOutput: false }),
    generate: async (request: ModelRequest) => {
      const answer = await generate(options, request, secrets);
      // The command may have printed what it was given.
      return answer.failure === undefined ? answer : redact(answer);
    },
  });
}

async function generate(
  options: CheckedOptions,
  request: ModelRequest,
  secrets: Secrets | undefined,
): Promise<ModelResponse | ModelFailure> {
  const { command, args, cwd, timeoutMs, clock = systemClock } = options;
  const { signal } = request;
  signal.throwIfAborted();
  const run = { command, args, cwd, variables: environmentFor(options), beside: secrets?.beside };
  const ended = await runCommand(run, toPrompt(request), { signal, timeoutMs, clock });
  if (ended.stop === "aborted") throw signal.reason;
  const failure = failureOf(ended, options, secrets);
  if (failure !== undefined) return failure;
  const answer = fromOutput(ended.stdout, ended.stderr, secrets);
  if (answer.failure === undefined && answer.message.text !== "") {
    request.onDelta?.({ kind: "text", text: answer.message.text });
  }
  return answer;
}

function failureOf(
  ended: Ended,
  { command, cwd, timeoutMs }: CheckedOptions,
  secrets: Secrets | undefined,
): ModelFailure | undefined {
  const { exitCode, signal, stdout, stderr, stop, notStarted, unread } = ended;
  const name = JSON.stringify(command);
  const printed = stderrShown(stderr, secrets);
  const failed = (what: string, cause?: unknown): ModelFailure => ({
    failure: "process",
    exitCode,
    signal,
    stderr,
    message: `The command ${name} ${what}`,
    payload: payloadOf(stdout, stderr, secrets),
    cause,
  });
  if (notStarted !== undefined) return failed(whyNotStarted(notStarted, command, cwd), notStarted);
  if (stop === "flooded") return failed(`was ended: it printed more than ${largestOutput} bytes.${printed}`);
  if (stop === "timeout") {
    const message = `The command ${name} did not answer within ${timeoutMs} ms.${printed}`;
    return {
      failure: "throttle",
      kind: "timeout",
      message,
      payload: { exitCode, signal, ...payloadOf(stdout, stderr, secrets) },
    };
  }
  if (signal !== null) return failed(`was ended by ${signal}.${printed}`);
  if (exitCode !== 0) return failed(`exited with code ${exitCode}.${printed}`);
  if (unread)
    return failed(`closed its standard input before it had read the prompt: let it read to the end.${printed}`);
  return undefined;
}

/** Characters of standard error in a message. */
const shownLength = 500;

export function stderrShown(stderr: string, secrets: Secrets | undefined): string {
  const text = stderr.trim();
  if (text === "") return "";
  return ` It printed: ${text.length > shownLength ? "…" : ""}${endOf(text, shownLength, secrets)}`;
}
