// A process whose OpenTelemetry API is 1.9 and whose SDK is 2.x, registered for all: prints the names of its spans.
import { createRequire, registerHooks } from "node:module";
import type * as Api from "@opentelemetry/api";
import type * as Sdk from "@opentelemetry/sdk-trace";

const older = new URL("./older-sdk/package.json", import.meta.url).href;
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier, specifier === "@opentelemetry/api" ? { ...context, parentURL: older } : context),
});
const load = createRequire(older);
const { trace } = load("@opentelemetry/api") as typeof Api;
const { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } = load("@opentelemetry/sdk-trace-base") as {
  readonly BasicTracerProvider: typeof Sdk.TracerProvider;
} & Pick<typeof Sdk, "InMemorySpanExporter" | "SimpleSpanProcessor">;
const exporter = new InMemorySpanExporter();
trace.setGlobalTracerProvider(
  new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter as never)] }),
);

const { openTelemetry } = await import("@proviso/otel");
const { modelAdapter } = await import("@proviso/runtime");
const { scriptedModel } = await import("@proviso/runtime/testing");
const { asks, outline, promptOf, treeOf } = await import("./tree.ts");
const model = scriptedModel([{ toolCalls: [{ name: "asks", id: "c1" }] }, { text: "Inside." }, { text: "Done." }]);
await modelAdapter(model, { observers: [openTelemetry()] }).evaluate(promptOf("outer", asks));
console.log(JSON.stringify(outline(treeOf(exporter.getFinishedSpans()))));
