import type { ToolMessage } from "@proviso/core";
import { expect, test } from "vitest";
import { stubOf } from "../../src/context/results.ts";
import { bareRun } from "./support.ts";

test("CTX-5 a stub has no files: the places where they stood are gone", async () => {
  const text = `${"x".repeat(500)} [image a.png]`;
  const file = { kind: "stored", name: "a.png", mediaType: "image/png", hash: "0".repeat(64), bytes: 3 };
  const fields = { role: "tool", callId: "call_1", name: "look", text, isError: false } as const;
  const answer = { ...fields, files: [{ at: text.length, file }] } as ToolMessage;
  const stub = await stubOf(bareRun(), answer, true);
  expect(Object.keys(stub).toSorted()).toEqual(["callId", "full", "isError", "name", "role", "text"]);
  expect(stub.text).toContain("[Left out: a result of 514 characters.");
});
