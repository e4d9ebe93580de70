import { DefinitionError } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { describeAdapter, type ConformanceOptions } from "@proviso/adapter-kit/conformance";
import { failingModel } from "@proviso/runtime/testing";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { cases } from "../../src/conformance/suite.ts";
import { toy } from "./toy-adapter.ts";
import { startToyService } from "./toy-service.ts";

describeAdapter("toy", {
  async start(script, settings) {
    const service = await startToyService(script);
    return { ...service, adapter: toy({ model: "toy-1", baseURL: service.baseURL, ...settings }) };
  },
});

describe("PRO-5 the guide for a new adapter", () => {
  const guide = readFileSync(join(import.meta.dirname, "../../../../specs/new-adapter.md"), "utf8");
  const snippets = (name: string): string =>
    [...guide.matchAll(/^```ts (\S+)\n([^]*?)^```$/gm)]
      .flatMap(([, file, code]) => (file === name ? [code] : []))
      .join("\n");
  const source = (name: string): string => readFileSync(join(import.meta.dirname, name), "utf8");

  test("PRO-5 the guide's snippets, one after another, are the toy adapter that the suite runs", () => {
    expect(snippets("toy-adapter.ts")).toBe(source("toy-adapter.ts"));
  });

  test("PRO-5 the guide's test is the one above", () => {
    const shown = snippets("toy-adapter.test.ts").split("\n\n");
    expect(shown.length).toBeGreaterThan(1);
    for (const part of shown.slice(1)) expect(source("suite.test.ts")).toContain(part);
  });
});

describe("what describeAdapter refuses", () => {
  const options: ConformanceOptions = {
    start: async () => ({
      adapter: modelAdapter(failingModel(new Error("No."))),
      requests: () => [],
      close: async () => {},
    }),
  };

  test("PRO-1 a skip that names no case, or gives no reason, is a DefinitionError", () => {
    const skipping = (rule: string, why: string) => () =>
      describeAdapter("none", { ...options, skip: [{ rule, why }] });
    expect(skipping("LOOP-99", "Because.")).toThrow(DefinitionError);
    expect(skipping("", "Because.")).toThrow(DefinitionError);
    expect(skipping("LOOP-2 no such title", "Because.")).toThrow(DefinitionError);
    expect(skipping("LOOP-2", " ")).toThrow("has no reason");
  });

  test.each([[], ["evaluate", "call"]])("PRO-1 ways that are none are a DefinitionError: %j", (...ways) => {
    expect(() => describeAdapter("none", { ...options, ways: ways as never })).toThrow(DefinitionError);
  });
});

describe("the ways of describeAdapter", () => {
  const title = "PRO-2 a prompt without tools sends no tool choice";
  const called: string[] = [];
  describeAdapter("toy by stream alone", {
    ways: ["stream"],
    skip: cases.flatMap((one) => (one.title === title ? [] : [{ rule: one.title, why: "one is enough here" }])),
    async start(script, settings) {
      const service = await startToyService(script);
      const adapter = toy({ model: "toy-1", baseURL: service.baseURL, ...settings });
      const watch = <Given extends unknown[], Result>(way: string, method: (...given: Given) => Result) =>
        ((...given: Given) => (called.push(way), method(...given))) as never;
      const evaluate = watch("evaluate", adapter.evaluate as () => unknown);
      const stream = watch("stream", adapter.stream as () => unknown);
      return { ...service, adapter: { ...adapter, evaluate, stream } };
    },
  });

  test("PRO-1 a case is played by the ways that are named, and by no other", () => {
    expect(called).toEqual(["stream"]);
  });
});
