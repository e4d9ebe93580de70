// Each way in which a request fails, before and after its first delta, with and without a tool that has run.
import {
  definePrompt,
  defineTool,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type ProviderErrorReason,
  type ThrottleKind,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, recordEvents } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const throttleKinds: Readonly<Record<ThrottleKind, true>> = {
  rate_limit: true,
  quota_exhausted: true,
  timeout: true,
  server_error: true,
  network: true,
  unknown: true,
};
const reasons: Readonly<Record<ProviderErrorReason, boolean>> = {
  not_found: true,
  context_length: true,
  invalid_response: true,
  unknown: false,
  api_key: false,
  bad_request: false,
  content_filter: false,
  refusal: false,
  truncated: false,
};

interface Fault {
  readonly name: string;
  readonly goesOn: boolean;
  end(): ModelFailure | ModelResponse;
}
const answerOf = (more: object): ModelResponse => ({
  message: { role: "assistant", text: "half", toolCalls: [] },
  finishReason: "stop",
  ...more,
});
const thrown = (name: string, goesOn: boolean, error: Error): Fault => ({
  name,
  goesOn,
  end() {
    throw error;
  },
});
const faults: readonly Fault[] = [
  ...Object.keys(throttleKinds).map((kind): Fault => {
    const failure: ModelFailure = { failure: "throttle", kind: kind as ThrottleKind, retry: false, message: "no" };
    return { name: `throttle: ${kind}`, goesOn: true, end: () => failure };
  }),
  ...Object.entries(reasons).map(([reason, goesOn]): Fault => {
    const failure: ModelFailure = { failure: "provider", reason: reason as ProviderErrorReason, message: "no" };
    return { name: `provider: ${reason}`, goesOn, end: () => failure };
  }),
  { name: "an answer that was refused", goesOn: false, end: () => answerOf({ refusal: "no" }) },
  { name: "an answer that was filtered", goesOn: false, end: () => answerOf({ finishReason: "content-filter" }) },
  { name: "an answer that was cut", goesOn: false, end: () => answerOf({ finishReason: "length" }) },
  {
    name: "an empty answer",
    goesOn: true,
    end: () => answerOf({ message: { role: "assistant", text: "", toolCalls: [] } }),
  },
  { name: "an answer without a message", goesOn: true, end: () => ({}) as ModelResponse },
  thrown("a connection that breaks", true, new TypeError("fetch failed")),
  thrown("an error of the provider", false, new RangeError("broken")),
];

const counted = { inputTokens: 100, outputTokens: 10 };

async function evaluated({ end }: Fault, hasDelta: boolean, hasTool: boolean) {
  const environment = fakeEnvironment();
  let ran = 0;
  const count = defineTool({
    name: "count",
    description: "Counts.",
    input: z.object({}),
    execute: () => void ran++,
  });
  const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Count.", tools: [count] }] }).bind();
  const model = (name: string, answers: (request: ModelRequest, turn: number) => ModelFailure | ModelResponse) => {
    let turn = 0;
    const provider: ModelProvider = {
      name,
      model: `${name}-1`,
      capabilities: { tools: true, nativeOutput: false },
      generate: async (request) => answers(request, ++turn),
    };
    return modelAdapter(provider, environment);
  };
  const calls = answerOf({
    message: { role: "assistant", text: "", toolCalls: [{ id: "c", name: "count", arguments: "{}" }] },
    usage: counted,
  });
  const first = model("a", ({ onDelta }, turn) => {
    if (hasTool && turn === 1) return calls;
    if (hasDelta) onDelta?.({ kind: "text", text: "half" });
    return end();
  });
  const seen: number[] = [];
  const second = model("b", ({ messages, onDelta }) => {
    seen.push(messages.filter(({ role }) => role === "tool").length);
    onDelta?.({ kind: "text", text: "whole" });
    return answerOf({ message: { role: "assistant", text: "whole", toolCalls: [] }, usage: counted });
  });
  const session = createSession();
  const events = recordEvents(session);
  const stream = fallback([first, second], environment).stream(prompt, { session });
  let shown = "";
  const shownSoFar = new Set<string>();
  const reading = (async () => {
    for await (const event of stream) {
      if (event.type === "text.delta") shownSoFar.add((shown += event.text));
      if (event.type === "text.reset") shown = "";
    }
  })();
  // The stream ends as the response does.
  await reading.catch(() => {});
  const response = await stream.response.catch((error: unknown) => error);
  return { response, ran, seen, shown, shownSoFar, events };
}

describe.each(faults)("$name", (fault) => {
  describe.each([
    ["before its first delta", false],
    ["after its first delta", true],
  ])("%s", (_, hasDelta) => {
    test.each([
      ["without a tool that has run", false],
      ["after a tool has run", true],
    ])("RTE-1 RTE-2 RTE-4 RTE-10 %s", async (__, hasTool) => {
      const { response, ran, seen, shown, shownSoFar, events } = await evaluated(fault, hasDelta, hasTool);
      const tools = hasTool ? 1 : 0;
      expect(ran).toBe(tools);
      const ends = events.filter(({ type }) => type === "prompt.executed" || type === "prompt.failed");
      expect(ends.map(({ type }) => type)).toEqual([fault.goesOn ? "prompt.executed" : "prompt.failed"]);
      expect(seen).toEqual(fault.goesOn ? [tools] : []);
      const requested = events.filter(({ type }) => type === "provider.requested");
      expect(requested.length).toBe(1 + tools);
      if (!fault.goesOn) {
        expect(response).toMatchObject({ name: "ProviderError" });
        return;
      }
      const { usage } = response as { readonly usage: { readonly inputTokens: number; readonly estimated: boolean } };
      expect(response).toMatchObject({ output: "whole", provider: "b", turns: 1 + tools });
      expect(shown).toBe("whole");
      expect([...shownSoFar]).toEqual(hasDelta ? ["half", "whole"] : ["whole"]);
      expect(usage.inputTokens).toBeGreaterThanOrEqual(100 * (1 + tools));
      // What had arrived of the answer that broke off is an estimate, and the sum says so.
      if (hasDelta) expect(usage.estimated).toBe(true);
    });
  });
});
