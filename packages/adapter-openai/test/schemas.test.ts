import { answerOf, lookUp, requestOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";
import { fromChat } from "../src/from-chat.ts";
import { fromResponses } from "../src/from-responses.ts";
import { fixture } from "./support/fixture.ts";
import { toChat, toResponses } from "./support/bodies.ts";

const optionalNote = {
  type: "object",
  properties: { word: { type: "string" }, note: { type: "string" } },
  required: ["word"],
  additionalProperties: false,
};
const output = { name: "word", schema: optionalNote };
const strictNote = {
  type: "object",
  properties: { word: { type: "string" }, note: { type: ["string", "null"] } },
  required: ["word", "note"],
  additionalProperties: false,
};

describe("OUT-4 the schema of an output", () => {
  test("OUT-4 it is made strict where it can be", () => {
    expect(toResponses({ model: "m", api: "responses" }, requestOf({ output }))["text"]).toEqual({
      format: { type: "json_schema", name: "word", schema: strictNote, strict: true },
    });
    expect(toChat({ model: "m", api: "chat" }, requestOf({ output }))["response_format"]).toEqual({
      type: "json_schema",
      json_schema: { name: "word", schema: strictNote, strict: true },
    });
  });

  test("OUT-4 a record is sent as it is, not strict", () => {
    const schema = { type: "object", additionalProperties: { type: "number" } };
    const body = toResponses({ model: "m", api: "responses" }, requestOf({ output: { name: "counts", schema } }));
    expect(body["text"]).toEqual({ format: { type: "json_schema", name: "counts", schema, strict: false } });
  });

  test("OUT-4 what comes back is mapped back: a null that stands for an absent key is gone", () => {
    expect(answerOf(fromResponses(fixture("responses-text"), { output })).parsed).toEqual({ word: "a" });
    expect(answerOf(fromChat(fixture("chat-text"), output)).parsed).toEqual({ word: "a" });
  });
});

test("OUT-3 a wrapped payload is left wrapped", () => {
  const schema = {
    type: "object",
    properties: { items: { type: "array", items: { type: "string" } } },
    required: ["items"],
    additionalProperties: false,
  };
  const body = fixture("chat-text");
  body["choices"] = [{ message: { content: '{"items":["a"]}' }, finish_reason: "stop" }];
  expect(answerOf(fromChat(body, { name: "list", schema })).parsed).toEqual({ items: ["a"] });
});

test("OUT-1 text that is no JSON is no native payload, nor is text beside calls", () => {
  const body = fixture("chat-text");
  body["choices"] = [{ message: { content: "Here:\n```json\n{}\n```" }, finish_reason: "stop" }];
  expect(answerOf(fromChat(body, output))).not.toHaveProperty("parsed");
  expect(answerOf(fromChat(fixture("chat-tool-calls"), output))).not.toHaveProperty("parsed");
  expect(answerOf(fromResponses(fixture("responses-tool-calls"), { output }))).not.toHaveProperty("parsed");
});

test("OUT-6 without an output asked for, JSON stays text", () => {
  expect(answerOf(fromResponses(fixture("responses-text"), {}))).not.toHaveProperty("parsed");
});

describe("OAI-5 the schemas of tools", () => {
  test("OAI-5 a tool is strict where every key is required as it is", () => {
    const body = toResponses({ model: "m", api: "responses" }, requestOf({ tools: [lookUp] }));
    expect(body["tools"]).toEqual([
      {
        type: "function",
        name: "look_up",
        description: "Looks a word up.",
        parameters: lookUp.inputSchema,
        strict: true,
      },
    ]);
  });

  const nested = {
    type: "object",
    properties: { filter: { type: "array", items: optionalNote } },
    required: ["filter"],
    additionalProperties: false,
  };
  test.each([optionalNote, nested])(
    "OAI-5 an optional key at any depth makes it non-strict, as it is",
    (inputSchema) => {
      const body = toChat({ model: "m", api: "chat" }, requestOf({ tools: [{ ...lookUp, inputSchema }] }));
      expect(body["tools"]).toEqual([
        {
          type: "function",
          function: { name: "look_up", description: "Looks a word up.", parameters: inputSchema, strict: false },
        },
      ]);
    },
  );
});

test("OAI-6 an output's name is made one that the service takes", () => {
  const nameOf = (name: string): unknown =>
    toResponses({ model: "m", api: "responses" }, requestOf({ output: { ...output, name } }))["text"];
  expect(nameOf("my.code review")).toMatchObject({ format: { name: "my_code_review" } });
  expect(nameOf("x".repeat(80))).toMatchObject({ format: { name: "x".repeat(64) } });
  expect(nameOf("")).toMatchObject({ format: { name: "output" } });
});
