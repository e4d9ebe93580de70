// What Phoenix makes of the spans: its own converter reads their attributes.
import { convertGenAISpanAttributesToOpenInferenceSpanAttributes as convert } from "@arizeai/openinference-genai";
import { openTelemetry } from "@proviso/otel";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { memorySdk } from "./support.ts";
import { note, noting, promptOf } from "./tree.ts";

async function converted(content: "none" | "spans") {
  const sdk = memorySdk();
  const steps = [
    {
      toolCalls: [
        { ...noting("a"), id: "c1" },
        { ...noting("b", true), id: "c2" },
      ],
    },
    { text: "Done." },
  ];
  const adapter = modelAdapter(scriptedModel(steps), { observers: [openTelemetry({ ...sdk.providers, content })] });
  await adapter.evaluate(promptOf("outer", note));
  return sdk.spans().map(({ name, attributes }) => ({ name, read: convert(attributes) ?? {} }));
}

test("OTEL-1 OTEL-2 OTEL-7 Phoenix reads an agent, its model's turns and its tools, with messages and tokens", async () => {
  const spans = await converted("spans");
  const kinds = spans.map(({ name, read }) => [name, read["openinference.span.kind"]]);
  expect(kinds.toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
    ["chat scripted-model", "LLM"],
    ["chat scripted-model", "LLM"],
    ["execute_tool note", "TOOL"],
    ["execute_tool note", "TOOL"],
    ["invoke_agent app/outer", "AGENT"],
  ]);
  const [first, second] = spans.filter(({ name }) => name.startsWith("chat"));
  expect(first?.read).toMatchObject({
    "llm.model_name": "scripted-model",
    "llm.token_count.prompt": 10,
    "llm.token_count.completion": 5,
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.1.message.role": "user",
  });
  expect(first?.read["llm.output_messages.0.message.role"]).toBe("assistant");
  expect(JSON.stringify(first?.read)).toContain("note");
  expect(JSON.stringify(second?.read["output.value"] ?? second?.read)).toContain("Done.");
  const tools = spans.filter(({ name }) => name.startsWith("execute_tool")).map(({ read }) => read);
  for (const tool of tools) expect(tool).toMatchObject({ "tool.name": "note" });
  // A backend that sums all spans counts each token once.
  const counted = spans.flatMap(({ read }) => (read["llm.token_count.prompt"] === undefined ? [] : [1]));
  expect(counted).toHaveLength(2);
});

test("OTEL-7 without content Phoenix reads kinds and tokens, and no text", async () => {
  const spans = await converted("none");
  expect(spans.filter(({ read }) => read["openinference.span.kind"] === "LLM")).toHaveLength(2);
  expect(spans.find(({ name }) => name.startsWith("chat"))?.read).toMatchObject({ "llm.token_count.prompt": 10 });
  const read = JSON.stringify(spans);
  for (const text of ["secret-of-prompt", "Go on.", "Done.", '"a"']) expect(read).not.toContain(text);
});
