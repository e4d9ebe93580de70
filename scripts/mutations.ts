import { contractMutations } from "./contract-mutations.ts";

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
    file: "runtime/src/rendering.ts",
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
    file: "runtime/src/session/places.ts",
    find: 'if (slice.kind === "log") return now[at];',
    replace: "",
    test: "packages/runtime/test/tools/recording.test.ts",
  },
  {
    rule: "TX-7",
    breaks: "a log slice that is no list survives a rollback, with slices in the order of the mark",
    file: "runtime/src/session/places.ts",
    find: "const same = slices === joined && looseLogs === 0;",
    replace: "const same = slices === joined;",
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
    find: "earliest(options.deadline, budgets.deadline)",
    replace: "budgets.deadline ?? options.deadline",
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
    file: "runtime/src/tools/call.ts",
    find: 'const params: RejectedParams = { rawArguments: String(call.arguments ?? ""), error };',
    replace: 'const params: RejectedParams = { rawArguments: "", error };',
    test: "packages/runtime/test/tools/arguments.test.ts",
  },
  {
    rule: "TOOL-4",
    breaks: "a handler that outlasts its timeoutMs gives a failed result",
    file: "runtime/src/tools/call-time.ts",
    find: "if (timeoutMs === undefined) return own;",
    replace: "if (timeoutMs !== null) return own;",
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
    find: "provider: setup.provider.name,\n    model: run.model,",
    replace: 'provider: "",\n    model: run.model,',
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
    find: "turns: run.turn,\n    messages:",
    replace: "turns: 0,\n    messages:",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-29",
    breaks: "the response has the provider's payload",
    file: "runtime/src/evaluate.ts",
    find: "providerPayload: response.payload,\n  });",
    replace: "providerPayload: undefined,\n  });",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-30",
    breaks: "an error has the messages so far",
    file: "runtime/src/failing.ts",
    find: "return { promptName, usage, messages: conversation.messages(), toolResults",
    replace: "return { promptName, usage, messages: [], toolResults",
    test: "examples/llm-connect/test/evaluate.test.ts",
  },
  {
    rule: "LLC-30",
    breaks: "an error has the tool results so far",
    file: "runtime/src/failing.ts",
    find: "messages: conversation.messages(), toolResults: Object.freeze([...toolResults]) };",
    replace: "messages: conversation.messages(), toolResults: Object.freeze([]) };",
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
    file: "adapter-ai-sdk/src/litellm.ts",
    find: "checkLiteLLMOptions(options);\n    return true;",
    replace:
      'checkLiteLLMOptions(options);\n    void fetch("http://127.0.0.1:65001").catch(() => {});\n    return true;',
    test: "examples/llm-connect/test/options.test.ts",
  },
  {
    rule: "AIS-17",
    breaks: "a stream that was cut is asked again with models of v2 and v3, too",
    file: "adapter-ai-sdk/src/from-stream.ts",
    find: "isSilent(finish) && events.isCut() ? undefined : finish",
    replace: "finish",
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
    file: "runtime/src/budget-room.ts",
    find: "tracker.reserve({ inputTokens, outputTokens, costUsd })",
    replace: "tracker.reserve({ inputTokens: 0, outputTokens: 0, costUsd: 0 })",
    test: "packages/runtime/test/reservation.test.ts",
  },
  {
    rule: "TX-12",
    breaks: "a wait behind whoever waits in front is seen to be endless",
    file: "runtime/src/transactions/lock.ts",
    find: "...queue.slice(0, place).map((wait) => wait.holder)]",
    replace: "...queue.slice(place, 0).map((wait) => wait.holder)]",
    test: "packages/runtime/test/transactions/deadlock.test.ts",
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
    test: "packages/runtime/test/transactions/public.test.ts",
  },
  ...contractMutations,
];
