import { answerMutations } from "./answer-mutations.ts";
import { lockMutations } from "./lock-mutations.ts";

/** A bug on purpose: a text of a source file, and what stands there instead. */
export interface Mutation {
  readonly name: string;
  /** Below packages/. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
}

const runtime = (file: string): string => `runtime/src/${file}`;

/** Each has to be found by the simulation within a bounded number of seeds. */
export const mutations: readonly Mutation[] = [
  {
    name: "a rollback forgets the resources",
    file: runtime("transactions/ending.ts"),
    find: "await restore(taken, transaction.host).catch((cause: unknown) => errors.push(cause));",
    replace: "void taken;",
  },
  {
    name: "a rollback forgets the session",
    file: runtime("transactions/ending.ts"),
    find: "if (mark !== undefined) core.rollback(mark, calls);",
    replace: "",
  },
  {
    name: "a context works on when its call is over",
    file: runtime("tools/context.ts"),
    find: "if (!state.live)",
    replace: "if (state === undefined)",
  },
  {
    name: "a late write to a filesystem is accepted",
    file: runtime("resources/guard.ts"),
    find: "guard.assertLive();",
    replace: "",
  },
  {
    name: "a Retry-After is ignored",
    file: runtime("request/backoff.ts"),
    find: "const asked = refusal.retryAfterMs ?? 0;",
    replace: "const asked = 0;",
  },
  {
    name: "the jitter is dropped",
    file: runtime("request/backoff.ts"),
    find: "floor + partOf(random()) *",
    replace: "floor + 0 *",
  },
  {
    name: "waits are not added up",
    file: runtime("request/backoff.ts"),
    find: "policy.maxTotalDelayMs - refusal.waitedMs",
    replace: "policy.maxTotalDelayMs",
  },
  {
    name: "a wait does not look at the deadline",
    file: runtime("request/backoff.ts"),
    find: "refusal.leftMs - floor]",
    replace: "Infinity]",
  },
  {
    name: "attempts are not counted",
    file: runtime("request/backoff.ts"),
    find: "if (refusal.attempt >= policy.maxAttempts) return undefined;",
    replace: "",
  },
  {
    name: "a budget is replaced instead of summed",
    file: "core/src/limits/budget.ts",
    find: "consumed = addUsage(consumed, actual);",
    replace: "consumed = actual;",
  },
  {
    name: "an answer is read again",
    file: runtime("request/model-answer.ts"),
    find: 'return typeof read === "string" ? invalid(read, answer) : read;',
    replace: 'return typeof read === "string" ? invalid(read, answer) : (answer as never);',
  },
  {
    name: "a value that JSON shows nothing of is a success",
    file: "core/src/odd-in-json.ts",
    find: "if (prototype !== Object.prototype && prototype !== null) return odd(`is a ${nameOfClass(value)}`);",
    replace: "void nameOfClass;",
  },
  {
    name: "a value that throws when it is read is a success",
    file: runtime("tools/result.ts"),
    find: "return failed(`${notJson}: it cannot be read: ${messageOf(error)}`);",
    replace: 'void error; return { success: true, message: "", value: null, hideValue: false };',
  },
  {
    name: "a budget is not looked at after a response",
    file: runtime("request/attempt.ts"),
    find: 'const passed = run.limits.check("response");',
    replace: "const passed = undefined;",
  },
  {
    name: "calls stay without an answer after a limit",
    file: runtime("tools/executor.ts"),
    find: "for (const answer of notBegun(calls, stop).answers) answers.push(answer);",
    replace: "void notRun;",
  },
  {
    name: "a tool runs twice",
    file: runtime("tools/run-call.ts"),
    find: "const returned: unknown = tool.execute(ownInput(input), calling.context);",
    replace:
      "const execute = (): unknown => tool.execute(ownInput(input), calling.context);\n  const before = execute();\n  const returned: unknown = isThenable(before) ? Promise.resolve(before).then(execute) : execute();",
  },
  {
    name: "a handler is waited for past the limits",
    file: runtime("tools/run-call.ts"),
    find: 'await run.limits.race(time.within(work), "tool", () => leaveBehind(run, work))',
    replace: "await time.within(work)",
  },
  {
    name: "a provider is waited for past the limits",
    file: runtime("request/attempt.ts"),
    find: 'run.limits.race(ending, "request")',
    replace: "ending",
  },
  {
    name: "listeners stay on the caller's signal",
    file: runtime("limits.ts"),
    find: "for (const stop of this.#stopListening) stop();",
    replace: "",
  },
  {
    name: "an event's number is used again",
    file: runtime("session/session.ts"),
    find: "own.seq = this.seq++;",
    replace: "own.seq = this.seq;",
  },
  {
    name: "call ids may repeat within a turn",
    file: runtime("well-formed.ts"),
    find: " && !seen.has(call.id)",
    replace: "",
  },
  {
    name: "a vetoed event stays in the logs",
    file: runtime("tools/recording.ts"),
    find: "if (errors.length > 0) run.core.rollback(beforeEvent);",
    replace: "",
  },
  {
    name: "listeners receive events of calls that fail",
    file: runtime("tools/context.ts"),
    find: "transaction.pendingEvents.push({ event: redacted, by: run, callId, before: run.core.nextSeq, order });",
    replace: "run.core.notify(redacted);",
  },
  {
    name: "listeners receive a nested evaluation's events before the call around it commits",
    file: runtime("tools/recording.ts"),
    find: "  if (around !== undefined && outer !== undefined) {",
    replace: "  if (around === null && outer !== undefined) {",
  },
  {
    name: "transactions of one session overlap",
    file: runtime("transactions/lock-all.ts"),
    find: 'sessionMode === "none" ? [] : [{ of: core.lock,',
    replace: 'sessionMode === "none" ? [] : [{ of: { number: -1, holds: [], queue: [] },',
  },
  {
    name: "a read-only handler may change the session",
    file: runtime("tools/context.ts"),
    find: 'if (phase === "handler" || phase === "reconcile") guard.assertMayChange("the session");',
    replace: "void [phase, guard];",
  },
  {
    name: "the history is not only added to",
    file: runtime("history.ts"),
    find: "messages.push(message);",
    replace: "messages.unshift(message);",
  },
  {
    name: "a failed read takes its neighbours with it",
    file: runtime("tools/in-transaction.ts"),
    find: "isToUndo(invocations[index]));",
    replace: "index >= 0 && invocations.some(isToUndo));",
  },
  {
    name: "a rollback undoes what others did meanwhile",
    file: runtime("transactions/transaction.ts"),
    find: 'core.open(transaction.mark, transaction.id, scope && parent && { evaluationId: parent.id, callId: "" });',
    replace: "void [scope, parent];",
  },
  {
    name: "a veto undoes what listeners dispatched",
    file: runtime("tools/recording.ts"),
    find: "run.core.open(beforeEvent, run.evaluationId);",
    replace: "",
  },
  {
    name: "a section's resources are waited for past the limits",
    file: runtime("inner-loop.ts"),
    find: 'await run.limits.race(run.resources.extend(fresh.resources), "render")',
    replace: "await run.resources.extend(fresh.resources)",
  },
  {
    name: "a call's signal does not tell its end",
    file: runtime("tools/call-timeout.ts"),
    find: "if (this.controller?.signal.aborted === false) this.abort(this.over());",
    replace: "",
  },
  {
    name: "a handler begins after its own time",
    file: runtime("tools/run-call.ts"),
    find: "if (calling.isLive() && !time.isUp()) return undefined;",
    replace: "return undefined;",
  },
  {
    name: "a handler begins after a listener's abort",
    file: runtime("tools/run-call.ts"),
    find: 'const stop = run.limits.stopped("tool");\n  if (stop !== undefined) return { result',
    replace: "const stop = undefined;\n  if (stop !== undefined) return { result",
  },
  {
    name: "a request begins after a listener's abort",
    file: runtime("request/attempt.ts"),
    find: 'const ended = run.limits.stopped("request");',
    replace: "const ended = undefined;",
  },
  {
    name: "an announcement comes after an abort",
    file: runtime("tools/in-transaction.ts"),
    find: "  if (stop !== undefined) return notRun(accepted.call, stop);\n  announceAccepted(run, accepted);",
    replace: "  announceAccepted(run, accepted);",
  },
  {
    name: "a wait is reported after an abort",
    file: runtime("request/repeated.ts"),
    find: 'const late = run.limits.stopped("request");',
    replace: "const late = undefined;",
  },
  {
    name: "transactions inside overlapping reads overlap",
    file: runtime("transactions/lock.ts"),
    find: "return blocked ?? (held.inner ??= createLock());",
    replace: "return blocked ?? createLock();",
  },
  {
    name: "what was brought back by a snapshot is lost with a call",
    file: runtime("session/concurrent-changes.ts"),
    find: "isWithin ? stateAt(changes, base, restored.order, all)",
    replace: "isWithin ? { from: base, events: [] }",
  },
  ...lockMutations,
  ...answerMutations,
];
