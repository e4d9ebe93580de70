import { definePolicy, deny } from "@proviso/core";
import { fakeEnvironment, invokeTool } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { notes, world, write } from "./tools/support.ts";

test("TOOL-4 TX-2 invokeTool runs one call as in an evaluation", async () => {
  const { resources, session } = world();
  const event = await invokeTool(write, { text: "x", end: "succeed" }, { session, resources, ...fakeEnvironment() });
  expect(event).toMatchObject({ type: "tool.invoked", name: "write", result: { success: true, value: "wrote x" } });
  expect(session.get(notes)).toEqual(["before", "x"]);
});

test("TX-1 what fails in invokeTool is undone", async () => {
  const { resources, session, digest } = world();
  const before = await digest();
  const { result } = await invokeTool(write, { text: "x", end: "throw" }, { session, resources });
  expect(result).toEqual({ success: false, message: "it threw" });
  expect(await digest()).toEqual(before);
});

test("TOOL-2 TOOL-10 invokeTool validates arguments and asks policies", async () => {
  const rejected = await invokeTool(write, { text: 1 } as never);
  expect(rejected.params).toMatchObject({ error: expect.stringContaining("text") });
  const no = definePolicy({ name: "no", check: () => deny("not today") });
  const { session, resources } = world();
  const denied = await invokeTool(write, { text: "x", end: "succeed" }, { session, resources, policies: [no] });
  expect(denied.result).toEqual({ success: false, message: "not today" });
});
