import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  allow,
  DefinitionError,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  type Slice,
  type ToolPolicy,
} from "@proviso/core";
import { caught } from "./support/caught.ts";
import { tool } from "./support/tools.ts";

const slice = (name: string): Slice<number> => defineSlice({ name, initial: 0 });
const watched = (name: string, slices: readonly Slice[]) => definePolicy({ name, slices, check: () => allow() });

describe("SES-4 slices of a prompt", () => {
  test("SES-4 a template's slices are the prompt's, its sections' and its policies', each once", () => {
    const [a, b, c, d, e] = [slice("a"), slice("b"), slice("c"), slice("d"), slice("e")];
    const template = definePrompt({
      ns: "a",
      key: "b",
      slices: [a],
      policies: [watched("p", [d])],
      sections: [
        { key: "s", slices: [b, a], policies: [watched("q", [e, b])], children: [{ key: "c", slices: [c] }] },
        { key: "t", slices: [b], enabled: () => false },
      ],
    });
    expect(new Set(template.slices)).toEqual(new Set([a, b, c, d, e]));
    expect(template.slices).toHaveLength(5);
  });

  test("SES-4 two slices of one name are a DefinitionError, wherever they are declared", () => {
    const twice: readonly (() => unknown)[] = [
      () => definePrompt({ ns: "a", key: "b", sections: [], slices: [slice("x"), slice("x")] }),
      () => definePrompt({ ns: "a", key: "b", slices: [slice("x")], sections: [{ key: "s", slices: [slice("x")] }] }),
      () =>
        definePrompt({
          ns: "a",
          key: "b",
          policies: [watched("p", [slice("x")])],
          sections: [{ key: "s", children: [{ key: "c", policies: [watched("q", [slice("x")])] }] }],
        }),
    ];
    for (const define of twice) {
      expect(caught(define)).toBeInstanceOf(DefinitionError);
      expect(caught(define).message).toBe('Two different slices have the name "x".');
    }
  });

  test("SES-4 one slice may be declared in many places", () => {
    const x = slice("x");
    const template = definePrompt({ ns: "a", key: "b", slices: [x, x], sections: [{ key: "s", slices: [x] }] });
    expect(template.slices).toEqual([x]);
  });
});

describe("SES-4 slices of a policy", () => {
  test("SES-4 what definePolicy returns has a list of slices, also where it was given none", () => {
    const x = slice("x");
    const given = [x];
    const policies = [
      definePolicy({ name: "p", check: () => allow() }),
      definePolicy({ name: "p", slices: undefined, check: () => allow() }),
      definePolicy({ name: "p", slices: given, check: () => allow() }),
    ];
    given.push(slice("y"));
    expect(policies.map((policy): readonly Slice[] => [...policy.slices])).toEqual([[], [], [x]]);
    for (const policy of policies) expect(Object.isFrozen(policy.slices)).toBe(true);
  });

  test("SES-4 a policy that was written by hand needs no slices", () => {
    const byHand: ToolPolicy = { name: "p", check: () => allow() };
    expect(definePrompt({ key: "b", text: "Hi.", policies: [byHand] }).slices).toEqual([]);
  });
});

describe("SES-4 defineSlice", () => {
  test("SES-4 a slice needs a name", () => {
    expect(caught(() => slice(""))).toBeInstanceOf(DefinitionError);
    expect(caught(() => slice(undefined as never))).toBeInstanceOf(DefinitionError);
  });

  test("SES-4 a slice's initial state has to fit its schema", () => {
    const schema = z.array(z.object({ x: z.number() }));
    const define = (initial: unknown) => () => defineSlice({ name: "s", schema, initial: initial as never });
    expect(define([{ x: 1 }])).not.toThrow();
    expect(caught(define([{ x: "1" }]))).toBeInstanceOf(DefinitionError);
    expect(caught(define([{ x: "1", y: 2 }])).message).toMatch(/slice "s" does not fit: 0\.x: .*0\.y: unknown key/);
  });

  test("SES-4 a slice's schema may describe what JSON cannot hold", () => {
    const initial = new Map([["a", 1n]]);
    expect(defineSlice({ name: "s", schema: z.map(z.string(), z.bigint()), initial }).initial).toBe(initial);
  });

  test("SES-5 what a slice begins with is plain data, frozen at every depth; anything else is refused with its path", () => {
    const initial = { list: [{ tags: ["a"] }], byName: new Map([["a", new Set([1n])]]) };
    const made = defineSlice({ name: "s", initial });
    expect(made.initial).toBe(initial);
    expect(() => initial.list[0]?.tags.push("b")).toThrow(TypeError);
    expect(() => initial.byName.get("a")?.add(2n)).toThrow(TypeError);
    const at = new Date(0);
    for (const [path, odd] of [
      ["it", at],
      ["list[2].at", { list: [1, 2, { at }] }],
      ["byName.a", { byName: new Map([["a", at]]) }],
    ] as const) {
      const error = caught(() => defineSlice<unknown>({ name: "s", initial: odd, schema: z.unknown() }));
      expect(error).toBeInstanceOf(DefinitionError);
      expect(error.message).toContain(`The slice "s" cannot hold this state: ${path} is a Date.`);
    }
  });

  test("SES-5 of a long path the error shows the beginning", () => {
    let deep: unknown = () => 1;
    for (let level = 0; level < 30; level++) deep = { in: deep };
    const { message } = caught(() => defineSlice<unknown>({ name: "s", initial: deep }));
    expect(message).toContain("in.in.in… is a function");
    expect(message.length).toBeLessThan(250);
  });

  test("SES-4 a slice is frozen, holds state unless it is a log, and keeps its reducers in order with their events", () => {
    const happened = defineEvent("happened", z.object({}));
    const [first, second, third] = [() => 1, () => 2, () => 3];
    const made = defineSlice<number>({
      name: "s",
      initial: 0,
      reducers({ on }) {
        on(happened, first);
        on("prompt.rendered", third);
        on(happened, second);
        on(tool("t"), third);
      },
    });
    expect(Object.isFrozen(made)).toBe(true);
    expect(made.kind).toBe("state");
    expect(defineSlice({ name: "l", kind: "log", initial: 0 }).kind).toBe("log");
    expect(made.registered).toEqual([
      { key: "happened", reduce: first },
      { key: "prompt.rendered", reduce: third },
      { key: "happened", reduce: second },
      { key: "tool:t", reduce: third },
    ]);
  });
});
