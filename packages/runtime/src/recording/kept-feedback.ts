// The feedback of a record, where providers are not asked.
import type { ToolMessage } from "@proviso/core";
import type { Run } from "../run.ts";
import { blockOf, cadenceOf, placeAmong } from "../tools/feedback.ts";

/** The message of a call that the record answers, with the feedback that it had: `given` are names and texts in turn. */
export function keptFeedback(run: Run, message: ToolMessage, given: readonly string[]): ToolMessage {
  const now = run.world.clock.now();
  const blocks: string[] = [];
  for (const [index, { name }] of run.rendered.feedback.entries()) {
    const cadence = cadenceOf(run, name, placeAmong(run.rendered.feedback, index));
    cadence.calls += 1;
    const at = given.findIndex((each, place) => place % 2 === 0 && each === name);
    if (at === -1) continue;
    Object.assign(cadence, { calls: 0, at: now });
    blocks.push(blockOf(name, given[at + 1] ?? ""));
  }
  return blocks.length === 0 ? message : { ...message, text: [message.text, ...blocks].join("\n\n") };
}

/** Gives the feedback of a record again, to the session of an evaluation whose calls run again, and on the message. */
export function givenAgain(
  run: Run,
  message: ToolMessage,
  given: readonly (readonly [provider: string, text: string])[],
): ToolMessage {
  const { promptName } = run;
  const { callId } = message;
  for (const [provider, text] of given) run.publish({ type: "feedback.given", promptName, callId, provider, text });
  return keptFeedback(run, message, given.flat());
}
