import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DefinitionError, defineEvent, defineSlice, isEvent } from "@proviso/core";
import { eventKeys, filterKey, isFrameworkEventType } from "@proviso/core/internal";
import { caught } from "./support/caught.ts";
import { tool } from "./support/tools.ts";

const noted = defineEvent("review.noted", z.object({ path: z.string(), line: z.number().default(1) }));

describe("EVT-2 events of an application", () => {
  test("EVT-2 an event is its type and its payload, validated, with defaults, and frozen", () => {
    const event = noted({ path: "a.ts" } as never);
    expect(event).toEqual({ type: "review.noted", path: "a.ts", line: 1 });
    expect(Object.isFrozen(event)).toBe(true);
    expect(noted.type).toBe("review.noted");
  });

  test("EVT-2 a payload that does not fit is a DefinitionError that lists every issue", () => {
    const error = caught(() => noted({ line: "1", more: 1 } as never));
    expect(error).toBeInstanceOf(DefinitionError);
    for (const part of ['"review.noted"', "path: ", "line: ", "more: unknown key"])
      expect(error.message).toContain(part);
  });

  test.each(["", "*", "tool:x", "prompt.rendered", "tool.invoked", "text.delta"])(
    "EVT-2 an event cannot be called %j: the framework uses the name",
    (type) => {
      expect(caught(() => defineEvent(type, z.object({})))).toBeInstanceOf(DefinitionError);
    },
  );

  test("EVT-2 names such as constructor are an application's to use", () => {
    expect(isFrameworkEventType("constructor")).toBe(false);
    expect(defineEvent("constructor", z.object({}))({})).toEqual({ type: "constructor" });
  });

  test("EVT-2 a payload cannot have a property type, nor smuggle one in", () => {
    expect(caught(() => defineEvent("x", z.object({ type: z.string() })))).toBeInstanceOf(DefinitionError);
    const loose = defineEvent("x", z.looseObject({}));
    expect(loose({ type: "prompt.executed" })).toEqual({ type: "x" });
  });

  test("EVT-2 a payload may hold a bigint or a date", () => {
    const counted = defineEvent("counted", z.object({ n: z.bigint(), at: z.date() }));
    expect(counted({ n: 1n, at: new Date(0) })).toEqual({ type: "counted", n: 1n, at: new Date(0) });
  });
});

describe("telling events apart", () => {
  const invoked = { type: "tool.invoked", name: "read_file" };

  test("an event answers to its type, and a tool's result to its tool as well", () => {
    expect(eventKeys(noted({ path: "a", line: 1 }))).toEqual(["review.noted"]);
    expect(eventKeys(invoked)).toEqual(["tool.invoked", "tool:read_file"]);
    expect([filterKey("tool.invoked"), filterKey(noted), filterKey(tool("read_file"))]).toEqual([
      "tool.invoked",
      "review.noted",
      "tool:read_file",
    ]);
  });

  test("isEvent picks out by name, by event and by tool", () => {
    expect(isEvent(invoked, "tool.invoked")).toBe(true);
    expect(isEvent(invoked, tool("read_file"))).toBe(true);
    expect(isEvent(invoked, tool("other"))).toBe(false);
    expect(isEvent(invoked, noted)).toBe(false);
    expect(isEvent(noted({ path: "a", line: 1 }), noted)).toBe(true);
    expect(isEvent({ type: "tool.requested", name: "read_file" }, tool("read_file"))).toBe(false);
  });

  test.each<readonly [given: string, nearest: string]>([
    ["tool.invokd", '"tool.invoked"?'],
    ["Tool.Invoked", '"tool.invoked"?'],
    ["prompt.execute", '"prompt.executed"?'],
    ["noted", "what defineEvent returned"],
    ["tool:read_file", "what defineEvent returned"],
    ["constructor", "what defineEvent returned"],
  ])("EVT-7 a text that names no framework event is refused: %j", (given, nearest) => {
    const error = caught(() => isEvent(invoked, given as never));
    expect(error).toBeInstanceOf(DefinitionError);
    expect(error.message).toContain(`"${given}" is no event of the framework`);
    expect(error.message).toContain(nearest);
    expect(
      caught(() => defineSlice({ name: "s", initial: 0, reducers: ({ on }) => on(given as never, () => 1) })).message,
    ).toBe(error.message);
  });

  test("EVT-7 an application's own event may have a name beside the framework's", () => {
    const counted = defineEvent("tool.counted", z.object({}));
    expect(isEvent(counted({}), counted)).toBe(true);
  });

  test.each([undefined, null, 1, "tool.invoked", {}, { type: 1 }, []])("isEvent takes %j for no event", (value) => {
    expect(isEvent(value, "tool.invoked")).toBe(false);
    expect(isEvent(value, noted)).toBe(false);
  });
});
