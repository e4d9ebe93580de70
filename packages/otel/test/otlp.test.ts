import { createServer } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { BatchSpanProcessor, TracerProvider } from "@opentelemetry/sdk-trace";
import { openTelemetry } from "@proviso/otel";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { note, noting, promptOf } from "./tree.ts";

interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly arrayValue?: { readonly values: readonly AnyValue[] };
}
interface DecodedSpan {
  readonly name: string;
  readonly spanId: Uint8Array;
  readonly parentSpanId: Uint8Array;
  readonly kind: number;
  readonly attributes: readonly { readonly key: string; readonly value: AnyValue }[];
  readonly startTimeUnixNano: unknown;
  readonly endTimeUnixNano: unknown;
}
interface Decoded {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly scope: { name: string }; readonly spans: readonly DecodedSpan[] }[];
  }[];
}

/** The definitions of opentelemetry-proto, as an earlier exporter ships them. */
const older = createRequire(new URL("./older-sdk/package.json", import.meta.url));
const { opentelemetry } = older("@opentelemetry/otlp-transformer/build/src/generated/root") as {
  readonly opentelemetry: {
    readonly proto: {
      readonly collector: {
        readonly trace: { readonly v1: { readonly ExportTraceServiceRequest: { decode(body: Uint8Array): Decoded } } };
      };
    };
  };
};

async function collector() {
  const bodies: Buffer[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      bodies.push(Buffer.concat(parts));
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1/traces`,
    bodies,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

test("OTEL-10 OTEL-1 a collector reads the spans by the definitions of the protocol", async () => {
  await using service = await collector();
  const exporter = new OTLPTraceExporter({ url: service.url });
  const tracerProvider = new TracerProvider({ spanProcessors: [new BatchSpanProcessor({ exporter } as never)] });
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ ...noting("a"), id: "c1" }] }, { text: "Done." }]), {
    observers: [openTelemetry({ tracerProvider, content: "spans" })],
  });
  await adapter.evaluate(promptOf("outer", note));
  await tracerProvider.forceFlush();
  await tracerProvider.shutdown();
  const { decode } = opentelemetry.proto.collector.trace.v1.ExportTraceServiceRequest;
  const scopes = service.bodies.flatMap((body) => decode(body).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans));
  const spans = scopes.flatMap((scope) => scope.spans);
  expect(scopes[0]?.scope.name).toBe("@proviso/otel");
  const idOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
  const root = spans.find(({ name }) => name === "invoke_agent app/outer");
  expect(spans.map(({ name }) => name).toSorted()).toEqual([
    "chat scripted-model",
    "chat scripted-model",
    "execute_tool note",
    "invoke_agent app/outer",
  ]);
  for (const span of spans)
    if (span !== root) expect(idOf(span.parentSpanId)).toBe(idOf(root?.spanId ?? new Uint8Array()));
  const call = spans.find(({ name }) => name === "execute_tool note");
  const attributes = new Map(call?.attributes.map(({ key, value }) => [key, value.stringValue]));
  expect(attributes.get("gen_ai.tool.call.id")).toBe("c1");
  expect(attributes.get("proviso.tool.outcome")).toBe("committed");
  expect(JSON.parse(attributes.get("gen_ai.tool.call.arguments") ?? "")).toEqual({ text: "a", fail: false });
});
