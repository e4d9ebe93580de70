import { describe, expect, test } from "vitest";
import { DefinitionError, parseMessages } from "@proviso/core";
import { caught } from "./support/caught.ts";

const call = (id: string) => ({ id, name: "read", arguments: '{ "path":  "a" }' });
const asks = (...ids: string[]) => ({ role: "assistant", text: "", toolCalls: ids.map(call) });
const answers = (callId: string) => ({ role: "tool", callId, name: "read", text: "x", isError: false });
const user = { role: "user", text: "u" };

describe("LOOP-3 stored messages", () => {
  test("LOOP-3 messages whose calls are all answered are taken as they are, byte for byte", () => {
    const messages = [
      { role: "system", text: "s" },
      user,
      { ...asks("1", "2"), providerItems: [{ type: "reasoning", signature: "x" }] },
      answers("2"),
      answers("1"),
      asks("1"),
      { ...answers("1"), isError: true },
      { role: "assistant", text: "done", toolCalls: [] },
    ];
    expect(parseMessages(JSON.parse(JSON.stringify(messages)))).toEqual(messages);
    expect(parseMessages([])).toEqual([]);
  });

  test.each<[string, readonly unknown[], string]>([
    ["a call at the end without its answer", [user, asks("1")], "messages[1] leaves calls without an answer: 1"],
    [
      "a call that is answered in part",
      [asks("1", "2"), answers("1")],
      "messages[1] leaves calls without an answer: 2",
    ],
    ["a user message before the answer", [asks("1"), user, answers("1")], "messages[1] comes before the answer to 1"],
    ["a turn before the answer", [asks("1"), asks("2"), answers("1")], "messages[1] comes before the answer to 1"],
    ["an answer without a call", [user, answers("1")], 'messages[1].callId answers no call: "1"'],
    ["an answer before its call", [answers("1"), asks("1")], 'messages[0].callId answers no call: "1"'],
    ["a second answer", [asks("1"), answers("1"), answers("1")], 'messages[2].callId answers no call: "1"'],
    ["an answer to a name of Object.prototype", [user, answers("constructor")], "messages[1].callId answers no call"],
    ["two calls of one id", [asks("1", "1"), answers("1")], 'messages[0].toolCalls has the id "1" twice'],
  ])("LOOP-3 %s is refused with its path", (_, messages, fault) => {
    const error = caught(() => parseMessages(messages));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(fault);
  });

  test.each<[unknown, string]>([
    ["text", "messages must be an array"],
    [{ 0: user, length: 1 }, "messages must be an array"],
    [[null], "messages[0] must be an object"],
    [[[]], "messages[0] must be an object"],
    [[user, { role: "user" }], "messages[1].text must be a string"],
    [[{ role: "developer", text: "x" }], 'messages[0].role must be "system", "user", "assistant" or "tool"'],
    [[{ role: "assistant", text: "x" }], "messages[0].toolCalls must be an array"],
    [[{ role: "assistant", text: "x", toolCalls: [1] }], "messages[0].toolCalls[0] must be an object"],
    [
      [{ ...asks(), toolCalls: [{ id: "1", name: "n", arguments: {} }] }],
      "messages[0].toolCalls[0].arguments must be a string",
    ],
    [[asks("1"), { ...answers("1"), isError: "no" }], "messages[1].isError must be a boolean"],
    [[asks("1"), { ...answers("1"), callId: 1 }], "messages[1].callId must be a string"],
  ])("LOOP-3 %j is refused whole, with the path of the fault", (messages, fault) => {
    const error = caught(() => parseMessages(messages));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(fault);
  });
});
