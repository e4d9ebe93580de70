import { systemClock, type ModelFailure, type ModelResponse } from "@proviso/core";
import type { AgentRun } from "@proviso/runtime";
import { environmentFor, openedSecretsOf } from "../options.ts";
import { stopsOf } from "../run-command.ts";
import { failureOf, timedOut, isCause } from "./acp-error.ts";
import { startInGroup, type GroupProcess } from "@proviso/node/internal";
import type { CheckedAgentOptions } from "./options.ts";
import { within } from "@proviso/node/internal";
import { beginTurn, type Turn, type TurnEnd } from "./turn.ts";
import { WireError } from "./wire.ts";

/** Milliseconds to wait for what an agent that has exited printed last, or for the exit of one that prints no more. */
const quietMs = 200;

/** Drives an agent through one turn: started for it, and ended after it. */
export async function drive(options: CheckedAgentOptions, run: AgentRun): Promise<ModelResponse | ModelFailure> {
  const { command, args, cwd, timeoutMs, clock = systemClock } = options;
  const { signal } = run;
  signal.throwIfAborted();
  const variables = environmentFor(options);
  const agent = startInGroup({ command, args, cwd, variables, beside: openedSecretsOf(options)?.beside });
  if (!("write" in agent)) return failureOf(undefined, { ...agent, stderr: "" }, options);
  const turn = beginTurn(options, run, agent);
  const stops = stopsOf({ signal, timeoutMs, clock }, new Promise(() => {}));
  try {
    const end = await Promise.race([endOf(turn, agent), stops.stopped]);
    if (typeof end === "string") await turn.cancel();
    else if ("answer" in end) return end.answer;
    const left = { ...(await agent.end()), stderr: agent.stderr() };
    if (end === "aborted") throw signal.reason;
    return typeof end === "string" ? timedOut(left, options) : failureOf(end.error, left, options);
  } finally {
    stops.end();
    await Promise.all([turn.close(), agent.end()]);
  }
}

/** The turn's end, or the agent's own before it. */
async function endOf({ ended }: Turn, { exited }: GroupProcess): Promise<TurnEnd> {
  const gone = exited.then(() => undefined);
  const end = await Promise.race([ended, gone]);
  if (end === undefined) return (await within(quietMs, () => ended)) ?? { error: undefined };
  if ("answer" in end || isCause(end.error)) return end;
  const exit = await within(quietMs, () => exited);
  return exit === undefined ? { error: new WireError("closed its standard output before it had answered") } : end;
}
