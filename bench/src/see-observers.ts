import { context } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { AlwaysOffSampler, BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import type { ModelProvider, ModelResponse, Observer } from "@proviso/core";
import { openTelemetry } from "@proviso/otel";
import { modelAdapter } from "@proviso/runtime";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { micros, race, row, type Row, type Work } from "./measure.ts";
import { evaluating } from "./proviso.ts";
import { argumentsText, finalText, tokens, type Scenario } from "./scenarios.ts";

const measured: readonly Scenario[] = [
  { name: "one plain turn", turns: 0, calls: 0, structured: false },
  { name: "one tool", turns: 1, calls: 1, structured: false },
  { name: "20 tool turns", turns: 20, calls: 1, structured: false },
];

/** A model that answers at once. */
function constant(scenario: Scenario): ModelProvider {
  let turn = 0;
  return {
    name: "constant",
    model: "constant-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate(): Promise<ModelResponse> {
      const isLast = turn >= scenario.turns;
      const at = turn;
      turn = isLast ? 0 : turn + 1;
      const toolCalls = isLast ? [] : [{ id: `c${at}`, name: "add", arguments: argumentsText }];
      return {
        message: { role: "assistant", text: isLast ? finalText(scenario) : "", toolCalls },
        finishReason: isLast ? "stop" : "tool-calls",
        usage: { inputTokens: tokens.inputTokens, outputTokens: tokens.outputTokens },
      };
    },
  };
}

type Kernel = typeof import("./see-kernel.ts");

function work(
  scenario: Scenario,
  observers?: readonly Observer[],
  kernel: Kernel = { modelAdapter, evaluating },
): Work {
  return kernel.evaluating(kernel.modelAdapter(constant(scenario), { observers }), scenario);
}

/** What observers cost that are not there, that have no SDK, whose spans are not sampled, and whose spans are kept. */
export async function seeObservers(quick: boolean): Promise<readonly Row[]> {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const rows: Row[] = [];
  const exporter = {
    export: (_spans: unknown, done: (result: { code: number }) => void) => done({ code: 0 }),
    shutdown: async () => {},
    forceFlush: async () => {},
  };
  const off = new TracerProvider({ sampler: new AlwaysOffSampler() });
  const on = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter } as never)] });
  const [whole, seamless] = [await bundled(false), await bundled(true)];
  for (const scenario of measured) {
    const times = Math.ceil((quick ? 4_000 : 40_000) / (1 + scenario.turns * 3));
    const bare = await race(
      { none: work(scenario, undefined, whole), seamless: work(scenario, undefined, seamless) },
      { times, rounds: quick ? 9 : 25 },
    );
    const used = await race(
      {
        none: work(scenario),
        idle: work(scenario, [openTelemetry()]),
        off: work(scenario, [openTelemetry({ tracerProvider: off })]),
        on: work(scenario, [openTelemetry({ tracerProvider: on })]),
      },
      { times },
    );
    const of = (what: string) => `${scenario.name}: ${what}`;
    const spans = 1 + (scenario.turns + 1) + scenario.turns * scenario.calls;
    rows.push(
      row(
        of("no observer / without the seam"),
        bare.none / bare.seamless,
        `${micros(bare.seamless)} → ${micros(bare.none)}`,
        "≤ 1.03",
      ),
      row(
        of("openTelemetry, no SDK / without"),
        used.idle / used.none,
        `${micros(used.none)} → ${micros(used.idle)}`,
        "≤ 1.15",
      ),
      row(of("openTelemetry, not sampled / without"), used.off / used.none, micros(used.off), "≤ 1.8"),
      row(of("openTelemetry, recorded / without"), used.on / used.none, micros(used.on), "≤ 2.2"),
      row(of("openTelemetry, recorded: µs a span"), (used.on - used.none) / spans, `${spans} spans`, "≤ 8"),
    );
  }
  await on.shutdown();
  context.disable();
  return rows;
}

/** The runtime as one file; `isSeamless`: with no place left where observers are called. */
async function bundled(isSeamless: boolean): Promise<Kernel> {
  const folder = await mkdtemp(join(import.meta.dirname, "../node_modules/.see-"));
  try {
    const bundle = await rolldown({
      input: join(import.meta.dirname, "see-kernel.ts"),
      platform: "node",
      resolve: { conditionNames: ["@proviso/source", "node", "import"] },
      plugins: [
        {
          name: "without observers",
          transform: (text, id) =>
            isSeamless && /packages\/runtime\/src\/(?!observing)/.test(id)
              ? text
                  .replaceAll(/const \{ observing \} = run;/g, "const observing: undefined = undefined;")
                  .replaceAll(
                    /\b(?:batch\.run|run|by|shown|current\(\))\.observing\?\.[a-zA-Z]+/g,
                    "(undefined as any)",
                  )
                  .replaceAll(/\(undefined as any\)\(/g, "((): void => {})(")
              : null,
        },
      ],
    });
    const file = join(folder, `kernel-${isSeamless}.mjs`);
    await bundle.write({ file, format: "esm", codeSplitting: false } as never);
    await bundle.close();
    return (await import(pathToFileURL(file).href)) as Kernel;
  } finally {
    await rm(folder, { recursive: true });
  }
}
