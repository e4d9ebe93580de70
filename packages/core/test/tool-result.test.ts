import { describe, expect, test } from "vitest";
import { allow, definePolicy, DefinitionError, deny, toolError, toolOk } from "@proviso/core";
import { returnedResult } from "@proviso/core/internal";
import { tool } from "./support/tools.ts";

describe("TOOL-4 results", () => {
  test("TOOL-4 toolOk is a success with a value, shown unless it is hidden", () => {
    expect(returnedResult(toolOk(1))).toEqual({ success: true, message: "", value: 1, hideValue: false });
    expect(returnedResult(toolOk(1, { message: "m", hideValue: true }))).toEqual({
      success: true,
      message: "m",
      value: 1,
      hideValue: true,
    });
    expect(returnedResult(toolOk(undefined))).toMatchObject({ success: true, value: undefined });
  });

  test("TOOL-4 toolError is a failure with a message", () => {
    expect(returnedResult(toolError("no"))).toEqual({ success: false, message: "no" });
  });

  test.each([
    [undefined, ""],
    [null, ""],
    [new Error("disk full"), "disk full"],
    [404, "404"],
    [{ toString: () => "never" }, "an object"],
  ])("TOOL-4 toolError(%o), which does not compile, is a failure with a text all the same", (given, message) => {
    expect(returnedResult(toolError(given as never))).toEqual({ success: false, message });
  });

  test.each([
    [{ message: 5 }, "The option message of toolOk must be a text, not 5."],
    [{ message: null }, "The option message of toolOk must be a text, not null."],
    [{ message: { a: 1 } }, "The option message of toolOk must be a text, not an object."],
    [{ hideValue: "no" }, 'The option hideValue of toolOk must be true or false, not "no".'],
  ])("TOOL-4 toolOk(1, %j), which does not compile, is refused, which fails the call", (options, message) => {
    expect(() => toolOk(1, options as never)).toThrow(new DefinitionError(message));
  });

  test.each([
    { success: false, message: "no" },
    { success: true, message: "", value: 1, hideValue: false },
    { ...toolOk(1) },
    structuredClone(toolError("no")),
    JSON.parse(JSON.stringify(toolOk(1))) as unknown,
    Object.create(toolError("no")) as unknown,
    undefined,
    null,
    "no",
    1,
  ])("TOOL-4 a look-alike is a value: %j", (value) => {
    expect(returnedResult(value)).toBeUndefined();
  });

  test("TOOL-4 a result cannot be changed after it was made", () => {
    const failed = toolError("no");
    expect(Object.isFrozen(failed)).toBe(true);
    expect(() => Object.assign(failed, { success: true })).toThrow(TypeError);
    expect(returnedResult(failed)).toEqual({ success: false, message: "no" });
  });

  test("TOOL-4 a tool is frozen", () => {
    expect(Object.isFrozen(tool("t"))).toBe(true);
  });
});

describe("policies", () => {
  test("allow lets a call through, with another input if one is given; deny says why not", () => {
    expect(allow()).toEqual({ allowed: true });
    expect(allow({ path: "b" })).toEqual({ allowed: true, input: { path: "b" } });
    expect(deny("never")).toEqual({ allowed: false, reason: "never" });
  });

  test("a policy is frozen and keeps what it was given", () => {
    const tools = [tool("t")];
    const made = definePolicy({ name: "p", tools, check: () => deny("x") });
    expect(Object.isFrozen(made)).toBe(true);
    expect(made).toMatchObject({ name: "p", tools });
  });
});
