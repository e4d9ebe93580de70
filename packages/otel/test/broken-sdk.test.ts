// What an SDK throws changes no evaluation, and leaves no other span open.
import type { Span as ApiSpan, TracerProvider as ApiTracerProvider } from "@opentelemetry/api";
import { TracerProvider, type ReadableSpan, type SpanProcessor } from "@opentelemetry/sdk-trace";
import type { Observer } from "@proviso/core";
import { openTelemetry, type OpenTelemetryOptions } from "@proviso/otel";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { asks, note, noting, promptOf } from "./tree.ts";

const steps: readonly ScriptedStep[] = [
  { toolCalls: [{ name: "asks" }, noting("a"), noting("b", true), { name: "note", arguments: "{" }] },
  { text: "Inside." },
  { text: "Done." },
];
/** invoke_agent, chat, three calls that ran and one that did not, invoke_agent and chat inside, chat. */
const all = 9;

async function evaluated(
  options: OpenTelemetryOptions,
  wrap: (observer: Observer) => Observer = (observer) => observer,
) {
  const records: object[] = [];
  const log = (fields: object, message: string): void => {
    if (message === "observer.failed") records.push(fields);
  };
  const logger = { debug: () => {}, info: () => {}, warn: log, error: log };
  const observer = wrap(openTelemetry({ content: "spans", ...options }));
  const { output, toolResults } = await modelAdapter(scriptedModel(steps), { observers: [observer], logger }).evaluate(
    promptOf("outer", note, asks),
  );
  expect([output, toolResults.map(({ result }) => result.success)]).toEqual(["Done.", [true, true, false, false]]);
  return records;
}

/** As a program does that passes its steps on. */
const passedOn = (observer: Observer): Observer => ({
  event: (event) => observer.event?.(event),
  changed: (changes) => observer.changed?.(changes),
  around: (step, work) => observer.around?.(step, work) ?? work(),
});

function failingAt(method: "onStart" | "onEnd", fails: (name: string, number: number) => boolean) {
  const begun: ReadableSpan[] = [];
  const ended: string[] = [];
  let thrown = 0;
  const failIf = (fault: boolean): void => {
    if (!fault) return;
    thrown += 1;
    throw new Error(`broken ${method}`);
  };
  const processor: SpanProcessor = {
    onStart(span) {
      failIf(method === "onStart" && fails(span.name, begun.length));
      begun.push(span);
    },
    onEnd(span) {
      ended.push(span.name);
      failIf(method === "onEnd" && fails(span.name, ended.length - 1));
    },
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  return { begun, ended, thrown: () => thrown, tracerProvider: new TracerProvider({ spanProcessors: [processor] }) };
}

const places = [
  ["every span", () => true],
  ["the first span", (_: string, number: number) => number === 0],
  ["the spans of evaluations", (name: string) => name.startsWith("invoke_agent")],
  ["the spans of turns", (name: string) => name.startsWith("chat")],
  ["the spans of calls", (name: string) => name.startsWith("execute_tool")],
] as const;
const ways = [
  ["an observer", undefined],
  ["an observer that is passed on", passedOn],
] as const;

describe.each(ways)("OTEL-9 of %s", (_, wrap) => {
  test.each(places)(
    "OTEL-9 a processor that throws when %s begins leaves no other span open",
    async (_place, fails) => {
      const { begun, ended, thrown, tracerProvider } = failingAt("onStart", fails);
      const records = await evaluated({ tracerProvider }, wrap);
      expect(begun.length + thrown()).toBe(all);
      expect(begun.filter((span) => !span.ended)).toEqual([]);
      expect(ended).toHaveLength(begun.length);
      expect(records).toHaveLength(thrown());
      for (const record of records) expect(record).toMatchObject({ error: "broken onStart" });
    },
  );

  test.each(places)("OTEL-9 a processor that throws when %s ends leaves no other span open", async (_place, fails) => {
    const { begun, thrown, tracerProvider } = failingAt("onEnd", fails);
    const records = await evaluated({ tracerProvider }, wrap);
    expect(begun).toHaveLength(all);
    expect(begun.filter((span) => !span.ended)).toEqual([]);
    expect(records.length).toBeGreaterThan(0);
    expect(records.length).toBeLessThanOrEqual(thrown());
  });
});

/** A span of another implementation, whose methods throw where the name says so. */
function brokenProvider(fails: (method: string) => boolean) {
  const open = new Set<object>();
  let begun = 0;
  const startSpan = (): ApiSpan => {
    begun += 1;
    const methods = ["setAttribute", "setAttributes", "addEvent", "setStatus", "isRecording"];
    const own = Object.fromEntries(
      methods.map((method) => [
        method,
        () => {
          if (fails(method)) throw new Error(`broken ${method}`);
          return true;
        },
      ]),
    );
    const spanContext = () => ({ traceId: "0".repeat(31) + "1", spanId: "0".repeat(15) + "1", traceFlags: 1 });
    const span = { ...own, spanContext, end: () => void open.delete(span) } as unknown as ApiSpan;
    open.add(span);
    return span;
  };
  const tracerProvider = { getTracer: () => ({ startSpan }) } as unknown as ApiTracerProvider;
  return { open, begun: () => begun, tracerProvider };
}

test.each(["setAttribute", "setAttributes", "addEvent", "setStatus", "isRecording", ""])(
  "OTEL-9 every span ends where its %s throws",
  async (broken) => {
    const { open, begun, tracerProvider } = brokenProvider((method) => method === broken);
    const records = await evaluated({ tracerProvider });
    expect([begun(), open.size]).toEqual([all, 0]);
    expect(records.length > 0).toBe(broken !== "");
  },
);

test("OTEL-9 every span ends where metrics throw", async () => {
  const { open, begun, tracerProvider } = brokenProvider(() => false);
  const instrument = () => {
    throw new Error("broken meter");
  };
  const meterProvider = { getMeter: () => ({ createHistogram: instrument, createCounter: instrument }) } as never;
  const records = await evaluated({ tracerProvider, meterProvider });
  expect([begun(), open.size]).toEqual([all, 0]);
  expect(records[0]).toMatchObject({ error: "broken meter" });
});

test("OTEL-9 metrics are counted where no span can begin", async () => {
  const { tracerProvider } = failingAt("onStart", () => true);
  const counted: string[] = [];
  const instrument = (name: string) => ({ record: () => void counted.push(name), add: () => void counted.push(name) });
  const meterProvider = { getMeter: () => ({ createHistogram: instrument, createCounter: instrument }) } as never;
  await evaluated({ tracerProvider, meterProvider });
  expect(counted.filter((name) => name === "gen_ai.invoke_agent.duration")).toHaveLength(2);
  expect(counted.filter((name) => name === "gen_ai.client.inference.duration")).toHaveLength(3);
  expect(counted.filter((name) => name === "gen_ai.execute_tool.duration")).toHaveLength(4);
});

test.each([
  ["tracer", { tracerProvider: { getTracer: () => never() } as never }],
  ["meter", { meterProvider: { getMeter: () => never() } as never }],
])("OTEL-9 a provider whose %s cannot be made changes no evaluation", async (_, options) => {
  for (const wrap of [undefined, passedOn]) {
    const records = await evaluated(options, wrap);
    expect(records[0]).toMatchObject({ error: "no provider" });
  }
});

function never(): never {
  throw new Error("no provider");
}
