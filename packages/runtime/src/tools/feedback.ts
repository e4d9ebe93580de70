import type { FeedbackProvider, ToolCall, ToolMessage } from "@proviso/core";
import { describeValue, messageOf } from "@proviso/core/internal";
import { ignoreRejection } from "../logging.ts";
import type { Run } from "../run.ts";
import type { SessionCore } from "../session/session-core.ts";
import { endTransaction } from "../transactions/ending.ts";
import type { Transaction } from "../transactions/transaction.ts";
import { transactionAfter } from "./begin.ts";
import { callContext } from "./context.ts";

/** The calls and the time since a provider last gave feedback. */
interface Cadence {
  calls: number;
  at: number;
}

const cadences = new WeakMap<SessionCore, Map<string, Cadence>>();

/** The message with what is due, each in a block of its own; without a transaction the call was not run. */
export async function withFeedback(
  run: Run,
  call: ToolCall,
  message: ToolMessage,
  transaction: Transaction | undefined,
): Promise<ToolMessage> {
  try {
    return await withBlocks(run, call, message, transaction);
  } catch (error) {
    // The call has been recorded: what comes after it cannot fail it.
    run.log("warn", { tool: call.name, callId: call.id, error: messageOf(error) }, "feedback.failed");
    return message;
  }
}

/** Feedback as the model reads it. */
export function blockOf(provider: string, text: string): string {
  return `<feedback from="${provider}">\n${text.toWellFormed()}\n</feedback>`;
}

async function withBlocks(
  run: Run,
  call: ToolCall,
  message: ToolMessage,
  transaction: Transaction | undefined,
): Promise<ToolMessage> {
  const kept = run.tape?.feedback(run, call, message);
  if (kept !== undefined) return kept;
  const providers = run.rendered.feedback;
  const cadences = providers.map(({ name }, index) => cadenceOf(run, name, placeAmong(providers, index)));
  for (const cadence of cadences) cadence.calls += 1;
  const now = run.world.clock.now();
  const due = providers.map((provider, index) => isDue(provider, cadences[index] as Cadence, now));
  if (!due.includes(true)) return message;
  const own = transactionAfter(run, call, transaction);
  const blocks = providers.flatMap((provider, index) => {
    const text = due[index] === true ? ask(run, call, provider, own) : undefined;
    if (text === undefined) return [];
    Object.assign(cadences[index] as Cadence, { calls: 0, at: now });
    run.publish({ type: "feedback.given", promptName: run.promptName, callId: call.id, provider: provider.name, text });
    return [blockOf(provider.name, text)];
  });
  await endTransaction(own);
  return blocks.length === 0 ? message : { ...message, text: [message.text, ...blocks].join("\n\n") };
}

/** Whether so many calls, or so many milliseconds, have passed since the last feedback; of both, what comes first. */
function isDue({ every }: FeedbackProvider, { calls, at }: Cadence, now: number): boolean {
  return ("calls" in every && calls >= every.calls) || (every.ms !== undefined && now - at >= every.ms);
}

/** Two of one name, reminders say, have a cadence each. */
export function placeAmong(providers: readonly FeedbackProvider[], index: number): number {
  return providers.slice(0, index).filter(({ name }) => name === providers[index]?.name).length;
}

/** Kept for the session, by prompt and provider. */
export function cadenceOf(run: Run, provider: string, place: number): Cadence {
  const known = cadences.get(run.core) ?? new Map<string, Cadence>();
  cadences.set(run.core, known);
  const key = JSON.stringify([run.promptName, provider, place]);
  const cadence = known.get(key) ?? { calls: 0, at: run.startedAt };
  known.set(key, cadence);
  return cadence;
}

function ask(run: Run, call: ToolCall, provider: FeedbackProvider, transaction: Transaction): string | undefined {
  const tool = { name: provider.name, readOnly: true };
  const calling = callContext(run, { call, tool }, transaction, () => run.limits.signal);
  calling.beginHandler();
  try {
    const text: unknown = provider.provide(calling.context);
    if (text === undefined || text === null || text === "") return undefined;
    if (typeof text === "string") return text;
    ignoreRejection(text);
    const error = `provide must return a text or undefined, and at once: not ${describeValue(text)}.`;
    run.log("warn", { tool: call.name, callId: call.id, provider: provider.name, error }, "feedback.failed");
    return undefined;
  } catch (error) {
    run.log(
      "warn",
      { tool: call.name, callId: call.id, provider: provider.name, error: messageOf(error) },
      "feedback.failed",
    );
    return undefined;
  } finally {
    void calling.end();
    const close = calling.closeResources();
    if (close !== undefined) transaction.closings.push(close);
  }
}
