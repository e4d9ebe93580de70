// What an evaluation shows of itself: its events and its log, without the secrets.
import type { FrameworkEvent, Prompt } from "@proviso/core";
import type { World } from "./environment.ts";
import { messageOf } from "./failures.ts";
import { logSafely } from "./logging.ts";
import type { Run } from "./run.ts";
import { redactionOf } from "./secrets/structure.ts";
import type { Origin } from "./session/concurrent-changes.ts";

/** Makes the function that numbers an event, reduces it, and emits it to the session's listeners and the stream. */
export function emitter(
  of: Pick<Run, "core" | "world" | "evaluationId" | "nesting" | "enclosing" | "watch" | "log" | "redaction">,
): Run["emit"] {
  const { core, nesting, watch, log, redaction, evaluationId } = of;
  const { clock } = of.world;
  const transaction = of.enclosing.parent;
  // An evaluation in the body of a transaction is part of it; what its calls do is still theirs, and undone with them.
  const body = transaction && { evaluationId: transaction.id, callId: "" };
  const originOf = (event: FrameworkEvent): Origin | undefined =>
    body && { evaluationId: event.evaluationId, callId: "callId" in event ? event.callId : undefined, parent: body };
  const parent = nesting && Object.freeze({ evaluationId: nesting.run.evaluationId, callId: nesting.callId });
  return (bare, cause) => {
    const filled: Filled = redaction.event(bare);
    filled.evaluationId = evaluationId;
    filled.at = clock.now();
    const whole = parent === undefined ? filled : { ...filled, parent };
    if (cause !== undefined) Object.defineProperty(whole, "cause", { value: redaction.value(cause) });
    const event = core.number(whole as never);
    const failedReducers = core.reduce(event, originOf(event));
    const failedListeners = core.notify(event);
    watch?.(event);
    if (failedReducers.length + failedListeners.length === 0) return { event, errors: failedListeners };
    const errors = [...failedReducers, ...failedListeners];
    for (const error of errors) log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
    return { event, errors };
  };
}

/** An event that is still the runtime's own. */
interface Filled {
  evaluationId?: string;
  at?: number;
}

/** What is shown of an evaluation goes through these. Where there is no logger, nothing is redacted for it. */
export function showingOf(
  { logger, secrets }: World,
  { template }: Prompt,
  evaluationId: string,
): Pick<Run, "redaction" | "redact" | "log"> {
  const redaction = redactionOf(secrets, template.descriptor.tools);
  const of = { promptName: template.name, evaluationId };
  const log: Run["log"] =
    logger === undefined
      ? () => {}
      : (level, fields, message) => logSafely(logger, level, redaction.log({ ...of, ...fields }), message);
  return { redaction, redact: redaction.appEvent, log };
}
