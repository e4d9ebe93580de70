import {
  definePrompt,
  defineTool,
  toolOk,
  type FileSupport,
  type ModelFailure,
  type ModelProvider,
} from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { recordEvents, scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const busy: ModelFailure = { failure: "throttle", kind: "server_error", message: "busy" };
const png: FileSupport = { types: ["image/png"], from: ["stored"] };
const pdf: FileSupport = { types: ["application/pdf"], from: ["stored"] };
const inAnswers: FileSupport = { ...png, inToolResults: ["image/*"] };

function named(name: string, steps: readonly ScriptedStep[], files?: FileSupport, fails = false) {
  const script = scriptedModel(steps, { capabilities: { files } });
  const provider: ModelProvider = { ...script, name, ...(fails ? { generate: async () => busy } : {}) };
  return { script, adapter: modelAdapter(provider) };
}
const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "What is it? {{photo}}" });
const photo = testImage({ name: "photo.png" });
const table = new File(["a,b"], "table.csv", { type: "text/csv" });

describe.each([
  ["fallback", (all: Parameters<typeof fallback>[0]) => fallback(all)],
  ["hedged", (all: Parameters<typeof hedged>[0]) => hedged(all, { afterMs: 60_000 })],
] as const)("RTE-6 files over %s", (_, chain) => {
  test("RTE-6 an adapter that cannot take the file is passed over, and the next gets it", async () => {
    const blind = named("blind", []);
    const reader = named("reader", [], pdf);
    const seeing = named("seeing", [{ text: "A square." }], png);
    const session = createSession();
    const events = recordEvents(session);
    const adapter = chain([blind.adapter, reader.adapter, seeing.adapter]);
    const { output, provider } = await adapter.evaluate(see.bind({ photo }), { session });
    expect([output, provider]).toEqual(["A square.", "seeing"]);
    expect([blind.script.callCount, reader.script.callCount]).toEqual([0, 0]);
    const [request] = seeing.script.requests;
    const file = request?.messages[0]?.files?.[0]?.file;
    expect(request?.bytesOf?.(file as never)).toEqual(await photo.bytes());
    const responded = events.find(({ type }) => type === "provider.responded");
    expect(responded).toMatchObject({
      route: [{ outcome: "skipped" }, { outcome: "skipped" }, { outcome: "answered" }],
    });
  });

  test("RTE-6 FILE-6 none left is a bad request that says what each would take, and nothing is sent", async () => {
    const [blind, reader] = [named("blind", []), named("reader", [], pdf)];
    const session = createSession();
    const events = recordEvents(session);
    const error = await chain([blind.adapter, reader.adapter])
      .evaluate(see.bind({ photo }), { session })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "provider", reason: "bad_request", phase: "request" });
    expect((error as Error).message).toMatch(
      /blind cannot take the file photo\.png .* It takes no files\. reader cannot/,
    );
    expect([blind.script.callCount, reader.script.callCount]).toEqual([0, 0]);
    expect(events.map(({ type }) => type)).not.toContain("provider.requested");
  });

  test("RTE-6 a request without files goes to the first one, whatever it takes", async () => {
    const blind = named("blind", [{ text: "Hello." }]);
    const seeing = named("seeing", [], png);
    const { provider } = await chain([blind.adapter, seeing.adapter]).evaluate("Hello?");
    expect(provider).toBe("blind");
  });

  test("RTE-6 FILE-9 a text file goes as text to a model that takes no files", async () => {
    const blind = named("blind", [{ text: "A table." }]);
    const { provider } = await chain([blind.adapter, named("seeing", [], png).adapter]).evaluate(
      see.bind({ photo: table }),
    );
    expect(provider).toBe("blind");
    expect(blind.script.requests[0]?.messages[0]).toMatchObject({
      text: expect.stringContaining("```table.csv\na,b\n```"),
    });
  });
});

const chart = defineTool({
  name: "chart",
  description: "Draws a chart.",
  input: z.object({}),
  execute: () => toolOk(null, { message: "Drawn.", files: [photo] }),
});
const draw = definePrompt({ key: "draw", sections: [{ key: "task", role: "user", text: "Draw.", tools: [chart] }] });
const call: ScriptedStep = { toolCalls: [{ name: "chart", id: "call_1" }] };

test("RTE-6 FILE-8 each model gets a tool's picture where it takes it: in the answer, behind it, or as a line", async () => {
  const script = [call, { text: "ok" }] as const;
  const sent = async (files: FileSupport | undefined) => {
    const asked = named("asked", script, files);
    const first = named("first", [], png, true);
    await fallback([first.adapter, asked.adapter]).evaluate(draw.bind());
    return asked.script.requests[1]?.messages.slice(2);
  };
  expect(await sent(inAnswers)).toMatchObject([{ role: "tool", files: [{ at: 25 }] }]);
  expect(await sent(png)).toMatchObject([
    { role: "tool", text: "Drawn.\n\n[image photo.png]" },
    { role: "user", text: "Result of chart (call_1): [image photo.png]" },
  ]);
  expect((await sent(undefined))?.[0]?.text).toContain("not shown, this model takes no files]");
});

test("RTE-6 RTE-12 a chain inside a chain routes files, too", async () => {
  const seeing = named("seeing", [{ text: "A square." }], png);
  const inner = fallback([named("blind", []).adapter, seeing.adapter]);
  const outer = fallback([named("reader", [], pdf).adapter, inner]);
  const { output } = await outer.evaluate(see.bind({ photo }));
  expect([output, seeing.script.callCount]).toEqual(["A square.", 1]);
});

test("RTE-6 FILE-14 a file is reserved for by the highest bound in the chain", async () => {
  const silent = (tokens: number) =>
    modelAdapter({
      name: `counts ${tokens}`,
      model: "m",
      capabilities: { tools: true, nativeOutput: true, files: { ...png, tokensOf: () => tokens } },
      generate: async () => ({ message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" }),
    });
  const one = await fallback([silent(2_000)]).evaluate(see.bind({ photo }));
  const { usage } = await fallback([silent(2_000), silent(5_000)]).evaluate(see.bind({ photo }));
  expect(usage.inputTokens - one.usage.inputTokens).toBe(3_000);
});

test("RTE-8 FILE-11 files of an attempt that was undone are not in the response", async () => {
  const drawing = { at: 0, data: new Uint8Array([1, 2, 3]), mediaType: "image/x" };
  const prompt = definePrompt({ key: "draw", output: z.object({ a: z.string() }), text: "Draw." }).bind();
  const wrong = () => named("wrong", [{ text: "no JSON", files: [drawing] }]).adapter;
  const plain = named("plain", [{ output: { a: "right" } }]).adapter;
  const drawn = named("drawn", [{ output: { a: "right" }, files: [drawing] }]).adapter;

  const without = await fallback([wrong(), plain], { on: ["output"] }).evaluate(prompt);
  expect([without.output, without.files]).toEqual([{ a: "right" }, undefined]);
  const { files, messages } = await fallback([wrong(), drawn], { on: ["output"] }).evaluate(prompt);
  // It counts from one again.
  expect(files?.map(({ name }) => name)).toEqual(["image-1.x"]);
  expect(messages.flatMap((message) => message.files ?? []).map(({ file }) => file)).toEqual(files);
});
