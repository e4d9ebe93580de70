import { contractMutations } from "./contract-mutations.ts";
import { recordedMutations } from "./recorded-mutations.ts";
import { routingMutations } from "./routing-mutations.ts";
import { unnoticedMutations } from "./unnoticed-mutations.ts";

/** A clause of a rule broken on purpose: a text of a source file, and what stands there instead. */
export interface Mutation {
  /** Whose id stands in the title of a test that has to fail then. */
  readonly rule: string;
  /** What does not hold any more. */
  readonly breaks: string;
  /** Below packages/. */
  readonly file: string;
  /** Stands there exactly once. */
  readonly find: string;
  readonly replace: string;
  /** The file of the test, from the root. */
  readonly test: string;
}

/** Clauses in the middle of long rules, which tests miss most easily. Each was missed once. */
export const mutations: readonly Mutation[] = [
  {
    rule: "PRM-9",
    breaks: "an evaluation renders once, and again only when sections open",
    file: "runtime/src/inner-loop.ts",
    find: "return opened === run.opened ? undefined : renderAgain(run, opened);",
    replace: "return renderAgain(run, opened);",
    test: "packages/runtime/test/disclosure.test.ts",
  },
  {
    rule: "TOOL-11",
    breaks: "the cadence is kept per prompt",
    file: "runtime/src/tools/feedback.ts",
    find: "JSON.stringify([run.promptName, provider, place])",
    replace: "JSON.stringify([provider, place])",
    test: "packages/runtime/test/feedback.test.ts",
  },
  {
    rule: "VIS-4",
    breaks: "what is open is open of that prompt",
    file: "runtime/src/rendering.ts",
    find: ".find(({ prompt }) => prompt === promptName)?.sections",
    replace: ".find(({ prompt }) => prompt !== undefined)?.sections",
    test: "packages/runtime/test/disclosure.test.ts",
  },
  {
    rule: "TX-7",
    breaks: "a log slice that is no list survives a rollback",
    file: "runtime/src/session/state.ts",
    find: 'if (slice.kind === "log") return now[index];',
    replace: "",
    test: "packages/runtime/test/tools/recording.test.ts",
  },
  {
    rule: "TX-7",
    breaks: "a log slice that is no list survives a rollback, with slices in the order of the mark",
    file: "runtime/src/session/state.ts",
    find: "const isSame = marked === this.#slices && this.#logsInStates === 0;",
    replace: "const isSame = marked === this.#slices;",
    test: "packages/runtime/test/tools/recording.test.ts",
  },
  {
    rule: "SIM-6",
    breaks: "calls are answered before any other message",
    file: "simulator/src/read-chat.ts",
    find: "} else refuseOpen();",
    replace: "}",
    test: "packages/simulator/test/refusals.test.ts",
  },
  {
    rule: "LIM-1",
    breaks: "the option's deadline counts where it is the earlier one",
    file: "runtime/src/limits.ts",
    find: "earliest(options.deadline, this.#budgets.deadline)",
    replace: "this.#budgets.deadline ?? options.deadline",
    test: "packages/runtime/test/limits.test.ts",
  },
  {
    rule: "THR-2",
    breaks: "a request waits 30 s in total",
    file: "runtime/src/request/policy.ts",
    find: "maxTotalDelayMs: 30_000",
    replace: "maxTotalDelayMs: 60_000",
    test: "packages/adapter-kit/test/throttle.test.ts",
  },
  {
    rule: "THR-2",
    breaks: "a wait is 8 s at most",
    file: "runtime/src/request/policy.ts",
    find: "maxDelayMs: 8_000",
    replace: "maxDelayMs: 4_000",
    test: "packages/adapter-kit/test/throttle.test.ts",
  },
  {
    rule: "TOOL-2",
    breaks: "the event carries the raw arguments",
    file: "runtime/src/tools/run-call.ts",
    find: 'const params: RejectedParams = { rawArguments: String(call.arguments ?? ""), error };',
    replace: 'const params: RejectedParams = { rawArguments: "", error };',
    test: "packages/runtime/test/tools/arguments.test.ts",
  },
  {
    rule: "TOOL-4",
    breaks: "a handler that outlasts its timeoutMs gives a failed result",
    file: "runtime/src/tools/call-timeout.ts",
    find: "return Promise.race([work, this.expired.promise]);",
    replace: "return work;",
    test: "packages/runtime/test/tools/results.test.ts",
  },
  {
    rule: "LOOP-6",
    breaks: "the response names the model that answered",
    file: "runtime/src/inner-loop.ts",
    find: "run.model = response.model ?? run.model;",
    replace: "",
    test: "packages/runtime/test/loop.test.ts",
  },
  {
    rule: "LOOP-6",
    breaks: "the response names the provider",
    file: "runtime/src/evaluate.ts",
    find: "provider: answered?.provider ?? setup.provider.name,",
    replace: 'provider: "",',
    test: "packages/runtime/test/loop.test.ts",
  },
  {
    rule: "LLC-26",
    breaks: "the model is the one that answered",
    file: "runtime/src/inner-loop.ts",
    find: "run.model = response.model ?? run.model;",
    replace: "",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-29",
    breaks: "the response has the evaluation's id",
    file: "runtime/src/evaluate.ts",
    find: "evaluationId: run.evaluationId,\n    provider",
    replace: 'evaluationId: "",\n    provider',
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-29",
    breaks: "the response has the number of turns",
    file: "runtime/src/evaluate.ts",
    find: "turns: run.turn,\n    messages,",
    replace: "turns: 0,\n    messages,",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-29",
    breaks: "the response has the provider's payload",
    file: "runtime/src/evaluate.ts",
    find: "providerPayload: run.files === undefined ? response.payload : run.files.withoutBytes(response.payload),",
    replace: "providerPayload: undefined,",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-30",
    breaks: "an error has the messages so far",
    file: "runtime/src/failing.ts",
    find: "return { promptName, usage, messages: history.messages(), toolResults",
    replace: "return { promptName, usage, messages: [], toolResults",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-30",
    breaks: "an error has the tool results so far",
    file: "runtime/src/failing.ts",
    find: "messages: history.messages(), toolResults: Object.freeze([...toolResults]) };",
    replace: "messages: history.messages(), toolResults: Object.freeze([]) };",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-9",
    breaks: "a deadline ends a request that is under way",
    file: "runtime/src/limits.ts",
    find: "leftMs > 0 ? leftMs : 0, () =>",
    replace: "leftMs > 0 ? leftMs + 2_000 : 0, () =>",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-9",
    breaks: "timeoutMs ends a request that is under way",
    file: "adapter-kit/src/request-guard.ts",
    find: "this.#waitForAnswer(timeoutMs, timeoutMs)",
    replace: "this.#waitForAnswer(timeoutMs + 2_000, timeoutMs)",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-6",
    breaks: "asking whether options will do asks nobody",
    file: "runtime/src/adapter-options.ts",
    find: "adapter(options);\n    return { ok: true };",
    replace: 'adapter(options);\n    void fetch("http://127.0.0.1:65001").catch(() => {});\n    return { ok: true };',
    test: "examples/llm-connect/test/options.test.ts",
  },
  {
    rule: "AIS-17",
    breaks: "a stream that was cut is asked again with models of v2 and v3, too",
    file: "adapter-ai-sdk/src/from-stream.ts",
    find: "return events.isCut() ? undefined : finish;",
    replace: "return finish;",
    test: "packages/adapter-ai-sdk/test/versions.test.ts",
  },
  {
    rule: "AIS-10",
    breaks: "tools of the OpenAI family are told whether they are strict by models of v2 and v3, too",
    file: "adapter-ai-sdk/src/to-ai-sdk.ts",
    find: "if (!isOpenAIFamily(model)) return { type",
    replace: "if (!takesArgumentText(model)) return { type",
    test: "packages/adapter-ai-sdk/test/versions.test.ts",
  },
  {
    rule: "EVT-4",
    breaks: "each request has its own prompt.call.start",
    file: "runtime/src/request/attempt.ts",
    find: 'run.log("debug", { turn: run.turn, attempt }, "prompt.call.start");',
    replace: 'if (run.turn === 1) run.log("debug", { turn: run.turn, attempt }, "prompt.call.start");',
    test: "packages/runtime/test/logs.test.ts",
  },
  {
    rule: "LIM-5",
    breaks: "a request reserves what it may cost",
    file: "runtime/src/shared-budget.ts",
    find: "const reserved = { inputTokens, outputTokens, costUsd };",
    replace: "const reserved = { inputTokens: 0, outputTokens: 0, costUsd: costUsd && 0 };",
    test: "packages/runtime/test/reservation.test.ts",
  },
  {
    rule: "LIM-5",
    breaks: "a waiting request gets the room that is left once the usage of others is charged",
    file: "runtime/src/budgets.ts",
    find: "settleAll(this.#held, actual);",
    replace: "settleAll(this.#held.toReversed(), actual);",
    test: "packages/runtime/test/budgets/held-while-calling.test.ts",
  },
  {
    rule: "LIM-5",
    breaks: "an agent whose call runs holds its estimate in dollars, too",
    file: "runtime/src/agent-spending.ts",
    find: "costUsd: costOf?.(inputTokens, outputTokens)",
    replace: "costUsd: costOf && 0",
    test: "packages/runtime/test/budgets/held-while-calling.test.ts",
  },
  {
    rule: "LIM-5",
    breaks: "an agent whose call runs holds all that is left where its estimate does not fit",
    file: "runtime/src/shared-budget.ts",
    find: "this.#reservation = tracker.reserve(this.#reserved);",
    replace: "void this.#reserved;",
    test: "packages/runtime/test/budgets/held-while-calling.test.ts",
  },
  {
    rule: "TOOL-17",
    breaks: "the value of a tool that declares its output is checked",
    file: "runtime/src/tools/result.ts",
    find: "output === undefined ? asJsonResult(result)",
    replace: "output !== null ? asJsonResult(result)",
    test: "packages/runtime/test/tools/declared-output.test.ts",
  },
  {
    rule: "TOOL-13",
    breaks: "the check of a policy locks what the policy uses",
    file: "runtime/src/tools/begin.ts",
    find: "const read = participantsOf(run, checks)",
    replace: "const read = participantsOf(run, [{ uses: [] }])",
    test: "packages/runtime/test/transactions/policy-locks.test.ts",
  },
  {
    rule: "TX-12",
    breaks: "a wait behind whoever waits in front is seen to be endless",
    file: "runtime/src/transactions/who-keeps-waiting.ts",
    find: "other.lock === lock && other.position < position",
    replace: "other.lock === lock && other.position < 0",
    test: "packages/runtime/test/transactions/deadlock.test.ts",
  },
  {
    rule: "TX-12",
    breaks: "several that ask for a lock on behalf of one transaction wait together",
    file: "runtime/src/transactions/who-keeps-waiting.ts",
    find: "  if (one === lacking) return false;\n",
    replace: "",
    test: "packages/runtime/test/transactions/many-waiting.test.ts",
  },
  {
    rule: "TX-12",
    breaks: "a reader that wants to write does not wait for itself",
    file: "runtime/src/transactions/who-keeps-waiting.ts",
    find: "first?.lacking === one ? first.position : 0",
    replace: "0",
    test: "packages/runtime/test/transactions/many-waiting.test.ts",
  },
  {
    rule: "TX-13",
    breaks: "a failed commit is reported",
    file: "runtime/src/transactions/ending.ts",
    find: 'else fail(transaction, "commit", error);',
    replace: "else void error;",
    test: "packages/runtime/test/transactions/restore-faults.test.ts",
  },
  {
    rule: "TX-9",
    breaks: "a transaction waits for evaluations in its body",
    file: "runtime/src/transactions/ending.ts",
    find: "if (transaction.inside === 0) return;",
    replace: "if (transaction.inside >= 0) return;",
    test: "packages/runtime/test/transactions/left-evaluations.test.ts",
  },
  ...contractMutations,
  ...recordedMutations,
  ...routingMutations,
  ...unnoticedMutations,
  {
    rule: "TX-9",
    breaks: "a transaction that succeeds waits for the calls that its body left running",
    file: "runtime/src/transaction-scope.ts",
    find: "      await bodyEnded(own);\n      own.undone = false;",
    replace: "      own.undone = false;",
    test: "packages/runtime/test/transactions/public.test.ts",
  },
  {
    rule: "CMD-6",
    breaks: "what ignores SIGTERM has 200 ms more",
    file: "node/src/processes/process-group.ts",
    find: "const graceMs = 200;",
    replace: "const graceMs = 2_000;",
    test: "packages/adapter-process/test/failures.test.ts",
  },
  {
    rule: "SIM-8",
    breaks: "four characters are a token of the input",
    file: "simulator/src/answer.ts",
    find: "input: Math.ceil((sent.reduce((a, b) => a + b, 0) + system) / 4),",
    replace: "input: Math.ceil((sent.reduce((a, b) => a + b, 0) + system) / 3),",
    test: "packages/simulator/test/answers.test.ts",
  },
];

/** The bugs that are planted for these rules, or all of them where no rule is named, and the rules that none is planted for. */
export function plantedFor(rules: readonly string[]): {
  readonly asked: readonly Mutation[];
  readonly without: readonly string[];
} {
  const asked = rules.length === 0 ? mutations : mutations.filter(({ rule }) => rules.includes(rule));
  return { asked, without: rules.filter((wanted) => !asked.some(({ rule }) => rule === wanted)) };
}
