// 1. An attempt that may begin again is one transaction: its calls are inside, and are undone with it.
// 2. In a run, what outlives the process is part of no attempt: the attempt ends before a call that may change it, and the
//    evaluation does not begin again, since the record has such a call as done.
// 3. What was spent stays spent, and what was emitted stays emitted. Application events are delivered when the attempt counts.
import { messageOf } from "@proviso/core/internal";
import { failure, isFailure, errorOf, type Failure } from "../failures.ts";
import type { Attempts } from "../attempts.ts";
import { spent, whyNoMoreCalls } from "../failing.ts";
import type { Answer } from "../output/parse.ts";
import type { Run } from "../run.ts";
import { beginsAfter } from "../turns-before.ts";
import { outside, placed } from "../tools/begin.ts";
import { deliverEvents } from "../tools/recording.ts";
import { runAttempt } from "../transactions/async-context.ts";
import { endTransaction, rollback } from "../transactions/ending.ts";
import type { LockMode } from "../transactions/lock-state.ts";
import { beginTransaction, type Transaction } from "../transactions/transaction.ts";

/** Answers, attempt after attempt. The last one needs no transaction: nothing begins after it. */
export async function beginAgain(
  run: Run,
  given: Attempts,
  repeatTools: boolean,
  once: () => Promise<Answer | Failure>,
): Promise<Answer | Failure> {
  const tape = run.isInside ? undefined : run.tape;
  const attempts = tape === undefined ? given : tape.attempts(given);
  for (let attempt = 2; attempts.hasMore(); attempt++) {
    tape?.beginAttempt(run);
    const before = stateOf(run);
    const transaction = await beginAttempt(run);
    if (!("holds" in transaction)) return notBegun(transaction);
    run.attempt = transaction;
    run.endAttempt = () => commit(run, transaction);
    let answer: Answer | Failure;
    try {
      answer = await runAttempt(transaction, once);
    } catch (cause) {
      await commit(run, transaction);
      throw cause;
    }
    if (run.attempt === undefined) return answer;
    const next = isFailure(answer) ? attempts.nextAfter(answer, () => mayRepeat(run, repeatTools)) : undefined;
    if (next === undefined || !isFailure(answer)) {
      await commit(run, transaction);
      return answer;
    }
    leaveAttempt(run);
    await rollback(transaction);
    await endTransaction(transaction);
    if (whyNoMoreCalls(run) !== undefined) return answer;
    putBack(run, before);
    const { code } = errorOf(answer, spent(run));
    run.publish({ type: "evaluation.restarted", attempt, code, ...next });
    run.log("warn", { attempt, code, error: answer.message, ...next }, "prompt.restarted");
  }
  return once();
}

/**
 * One transaction for all that an attempt does, so that the evaluation may begin again. Its calls are inside it, and it holds
 * nothing before one of them may change something.
 */
function beginAttempt(run: Run): ReturnType<typeof beginTransaction> {
  const mode: LockMode = run.nesting?.readOnly === true ? "read" : "write";
  const name = `the evaluation of ${run.promptName}`;
  const options = placed(run, [], { parent: outside(run), name, sessionMode: "none", resources: [], mode });
  return beginTransaction({ ...options, isAttempt: true });
}

/** Whether all tools that succeeded may run once more. */
export function mayRepeat({ toolResults, tools }: Run, repeatTools: boolean): boolean {
  if (repeatTools) return true;
  return toolResults.every(({ name, result }) => {
    // What opens sections changes the session alone.
    if (!result.success || name === "open_sections") return true;
    const tool = tools.get(name);
    return tool?.readOnly === true || tool?.idempotent === true;
  });
}

function notBegun(why: Failure | { readonly error: unknown }): Failure {
  if (isFailure(why)) return why;
  const { error: cause } = why as { readonly error: unknown };
  const message = `The evaluation could not begin: ${messageOf(cause)}`;
  return failure({ stop: "render", phase: "request", cause, message });
}

function leaveAttempt(run: Run): void {
  run.attempt = undefined;
  run.endAttempt = undefined;
}

/** Once: an attempt that was committed early is over. */
async function commit(run: Run, transaction: Transaction): Promise<void> {
  if (run.attempt !== transaction) return;
  leaveAttempt(run);
  deliverEvents(run, transaction.pendingEvents.splice(0));
  await endTransaction(transaction);
}

type Before = Pick<Run, "toolChoice" | "reasoning" | "turn" | "prices"> & {
  readonly messages: ReturnType<Run["history"]["messages"]>;
  readonly question: number | undefined;
  readonly results: number;
  readonly files: number;
};

function stateOf(run: Run): Before {
  const { toolChoice, reasoning, turn, prices, history, toolResults } = run;
  const { question } = history;
  return {
    toolChoice,
    reasoning,
    turn,
    prices,
    messages: history.messages(),
    question,
    results: toolResults.length,
    files: run.files?.made.length ?? 0,
  };
}

/** The evaluation as it was, but for what it has spent and the turns that it has used. */
function putBack(run: Run, before: Before): void {
  const { toolChoice, reasoning, turn, prices, messages, question, results, files } = before;
  run.toolChoice = toolChoice;
  run.reasoning = reasoning;
  run.prices = prices;
  run.knownCost = undefined;
  run.inputCorrection = undefined;
  run.toolResults.length = results;
  run.files?.keepMade(files);
  run.history.replace({ messages, question });
  beginsAfter(run, run.turn);
  if (run.watch === undefined) return;
  // A page that shows the text takes back what has come since.
  for (let one = turn + 1; one <= run.turn; one++) run.publish({ type: "text.reset", turn: one });
}
