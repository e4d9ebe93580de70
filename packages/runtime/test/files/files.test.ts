import {
  BlobError,
  Blobs,
  deadlineIn,
  definePrompt,
  defineTool,
  isFileRef,
  linkedFile,
  parseMessages,
  PromptRenderError,
  provide,
  ProviderError,
  toolOk,
  type FileRef,
  type FileSupport,
} from "@proviso/core";
import { createSession, memoryBlobs, modelAdapter, openFile } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const images: FileSupport = { types: ["image/png", "image/jpeg"], from: ["stored"] };
const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "What is it? {{photo}}" });
const seeRef = definePrompt({
  key: "see-ref",
  params: z.object({ file: z.custom<FileRef>(isFileRef) }),
  text: "What is it? {{file}}",
});

function modelFor(steps: readonly ScriptedStep[], files: FileSupport | undefined = images) {
  const model = scriptedModel(steps, { capabilities: { files } });
  return { model, adapter: modelAdapter(model) };
}

async function failureOf(evaluating: Promise<unknown>): Promise<unknown> {
  return evaluating.then(
    () => expect.unreachable("It must fail."),
    (error: unknown) => error,
  );
}

const chart = (file: File) =>
  defineTool({
    name: "chart",
    description: "Draws a chart.",
    input: z.object({}),
    execute: () => toolOk(null, { message: "Drawn.", files: [file] }),
  });
const draw = (file: File) =>
  definePrompt({ key: "draw", sections: [{ key: "task", role: "user", text: "Draw.", tools: [chart(file)] }] });

describe("files of a prompt", () => {
  test("FILE-3 FILE-5 the bytes are read, checked, hashed and measured before the request", async () => {
    const { model, adapter } = modelFor([{ text: "A square." }]);
    const photo = testImage({ width: 40, height: 30, name: "photo.png" });
    const { messages } = await adapter.evaluate(see.bind({ photo }));
    const [message] = model.requests[0]?.messages ?? [];
    const file = message?.files?.[0]?.file;
    expect(message?.text).toBe("What is it? [image photo.png]");
    expect(file).toMatchObject({ kind: "stored", mediaType: "image/png", bytes: photo.size, width: 40, height: 30 });
    expect(model.requests[0]?.bytesOf?.(file as never)).toEqual(await photo.bytes());
    expect(parseMessages(JSON.parse(JSON.stringify(messages)))).toEqual(messages);
  });

  test("FILE-1 64 bytes from inside a file are in no event, response, log or session JSON", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(9_000));
    bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    const photo = new File([bytes], "photo.png", { type: "image/png" });
    const session = createSession();
    const events = recordEvents(session);
    const logs: unknown[] = [];
    const log = (...record: unknown[]): void => void logs.push(record);
    const logger = { debug: log, info: log, warn: log, error: log };
    const payload = { data: Buffer.from(bytes).toString("base64") };
    const made = { at: 0, mediaType: "image/png", data: Buffer.from(bytes).toString("base64") };
    const model = scriptedModel([{ toolCalls: [{ name: "chart" }] }, { text: "Done.", files: [made] }], {
      capabilities: { files: images },
    });
    const answering = {
      ...model,
      generate: async (request: Parameters<typeof model.generate>[0]) => ({
        ...(await model.generate(request)),
        payload,
      }),
    };
    const prompt = definePrompt({
      key: "all",
      params: z.object({ photo: z.file() }),
      sections: [{ key: "task", role: "user", text: "{{photo}}", tools: [chart(photo)] }],
    });
    const response = await modelAdapter(answering, { logger }).evaluate(prompt.bind({ photo }), { session });
    const all = JSON.stringify([response, logs, session.toJSON(), events]);
    const inside = Buffer.from(bytes.subarray(4_500, 4_566));
    expect(all).toContain("photo.png");
    for (const form of [
      inside.toString("base64").slice(4, 80),
      inside.toString("base64url").slice(4, 80),
      [...inside.subarray(0, 64)].join(","),
      inside.toString("latin1"),
    ]) {
      expect(all).not.toContain(form);
    }
  });

  test.each([
    [
      "a jpeg that claims to be a png",
      new File([new Uint8Array([0xff, 0xd8, 0xff, 0xe0])], "a.png", { type: "image/png" }),
    ],
    ["a text that claims to be a png", new File(["hello"], "a.png", { type: "image/png" })],
    ["an empty file", new File([], "a.png", { type: "image/png" })],
  ])("FILE-5 %s is a PromptRenderError with a BlobError", async (_, photo) => {
    const { model, adapter } = modelFor([]);
    const error = (await failureOf(adapter.evaluate(see.bind({ photo })))) as PromptRenderError;
    expect(error).toBeInstanceOf(PromptRenderError);
    expect(error.cause).toBeInstanceOf(BlobError);
    expect((error.cause as BlobError).reason).toBe("media_type");
    expect(model.callCount).toBe(0);
  });

  test("FILE-5 a file that claims nothing is what its bytes say", async () => {
    const { model, adapter } = modelFor([{ text: "ok" }]);
    const photo = new File([await testImage().bytes()], "x", { type: "application/octet-stream" });
    await adapter.evaluate(see.bind({ photo }));
    expect(model.requests[0]?.messages[0]?.files?.[0]?.file.mediaType).toBe("image/png");
  });

  test.each([
    ["a model that takes no files", undefined, "It takes no files."],
    ["another type", { ...images, types: ["image/gif"] }, "It takes image/gif"],
    ["another way", { ...images, from: ["link"] }, "as link"],
    ["a size beyond the limit", { ...images, maxBytes: 10 }, "of 10 bytes at most"],
    ["more files than it takes", { ...images, maxFiles: 0 }, "takes 0 files"],
    ["more bytes than it takes", { ...images, maxTotalBytes: 10 }, "10 bytes together"],
  ] as const)("FILE-6 %s is a bad request, and nothing is sent", async (_, files, said) => {
    const model = scriptedModel([], { capabilities: { files } });
    const types: string[] = [];
    const session = createSession();
    session.on("provider.requested", ({ type }) => void types.push(type));
    const error = await failureOf(modelAdapter(model).evaluate(see.bind({ photo: testImage() }), { session }));
    expect(error).toBeInstanceOf(ProviderError);
    expect(error).toMatchObject({ reason: "bad_request", phase: "request" });
    expect((error as Error).message).toContain(said);
    expect((error as Error).message).toContain("test.png");
    expect([model.callCount, types]).toEqual([0, []]);
  });

  test("FILE-9 a text file goes as text, in a fence, to a model that takes no such file", async () => {
    const { model, adapter } = modelFor([{ text: "ok" }]);
    await adapter.evaluate(see.bind({ photo: new File(["a,b\n```\n"], "t.csv", { type: "text/csv" }) }));
    expect(model.requests[0]?.messages[0]).toEqual({
      role: "user",
      text: "What is it? [file t.csv]\n````t.csv\na,b\n```\n````\n",
    });
  });

  test("FILE-10 a link is not fetched; a model that takes none says so", async () => {
    const { adapter } = modelFor([]);
    const file = linkedFile("http://127.0.0.1:1/a.png", { mediaType: "image/png" });
    const error = await failureOf(adapter.evaluate(seeRef.bind({ file })));
    expect((error as Error).message).toContain("Give the bytes as a File.");
  });

  test("FILE-13 bytes that are nowhere are missing, and found in Blobs where that is bound", async () => {
    const blobs = memoryBlobs();
    const photo = testImage();
    const first = await modelFor([{ text: "ok" }]).adapter.evaluate(see.bind({ photo }), {
      resources: [provide(Blobs, blobs)],
    });
    const messages = parseMessages(JSON.parse(JSON.stringify(first.messages)));
    const { model, adapter } = modelFor([{ text: "again" }]);
    const error = (await failureOf(adapter.evaluate("More?", { messages }))) as PromptRenderError;
    expect(error).toBeInstanceOf(PromptRenderError);
    expect(error.cause).toMatchObject({ code: "blob", reason: "missing" });
    expect(error.message).toContain("messages[0]");
    await adapter.evaluate("More?", { messages, resources: [provide(Blobs, blobs)] });
    expect(model.requests[0]?.messages[0]?.files?.[0]?.file.name).toBe("test.png");
  });

  test("FILE-14 a file counts by its size in pixels, not by its bytes", async () => {
    const adapter = modelAdapter({
      name: "silent",
      model: "silent",
      capabilities: { tools: true, nativeOutput: true, files: images },
      generate: async () => ({ message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" }),
    });
    const { usage } = await adapter.evaluate(see.bind({ photo: testImage({ width: 640, height: 640 }) }));
    expect(usage.inputTokens).toBeGreaterThan(1_120);
    expect(usage.inputTokens).toBeLessThan(1_200);
  });

  test("FILE-2 a prompt without files is sent without a trace of them", async () => {
    const { model, adapter } = modelFor([{ text: "ok" }]);
    await adapter.evaluate("Hello.");
    expect(Object.keys(model.requests[0] ?? {})).not.toContain("bytesOf");
    expect(model.requests[0]?.messages).toEqual([{ role: "user", text: "Hello." }]);
  });
});

describe("files of tools", () => {
  const call: ScriptedStep = { toolCalls: [{ name: "chart", id: "call_1" }] };

  test("FILE-8 they go into one user message behind the answers, the same object in each request", async () => {
    const { model, adapter } = modelFor([call, { toolCalls: [{ name: "chart", id: "call_2" }] }, { text: "ok" }]);
    const { toolResults, messages } = await adapter.evaluate(draw(testImage({ name: "chart.png" })).bind());
    const [, second, third] = model.requests;
    expect(second?.messages.slice(2)).toMatchObject([
      { role: "tool", text: "Drawn.\n\n[image chart.png]" },
      { role: "user", text: "Result of chart (call_1): [image chart.png]" },
    ]);
    expect(third?.messages[2]).toBe(second?.messages[2]);
    expect(third?.messages[3]).toBe(second?.messages[3]);
    expect(toolResults[0]?.result).toMatchObject({ success: true, files: [{ kind: "stored", name: "chart.png" }] });
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"]);
    expect(messages[2]?.files).toHaveLength(1);
  });

  test("FILE-8 they stay in the answer where the model takes them there", async () => {
    const { model, adapter } = modelFor([call, { text: "ok" }], { ...images, inToolResults: ["image/*"] });
    await adapter.evaluate(draw(testImage({ name: "chart.png" })).bind());
    expect(model.requests[1]?.messages.slice(2)).toMatchObject([{ role: "tool", files: [{ at: 25 }] }]);
  });

  test("FILE-7 one that the model cannot take becomes a line, and the loop goes on", async () => {
    const { model, adapter } = modelFor([call, { text: "ok" }]);
    const pdf = new File(["%PDF-1.7"], "a.pdf", { type: "application/pdf" });
    const { output } = await adapter.evaluate(draw(pdf).bind());
    expect(output).toBe("ok");
    expect(model.requests[1]?.messages[2]?.text).toContain(
      "[file a.pdf, 8 bytes: not shown, this model takes image/png, image/jpeg]",
    );
  });

  test("FILE-5 one that is not what it claims is a failed call", async () => {
    const { adapter } = modelFor([call, { text: "ok" }]);
    const { toolResults } = await adapter.evaluate(draw(new File(["x"], "a.png", { type: "image/png" })).bind());
    expect(toolResults[0]?.result).toMatchObject({ success: false });
  });
});

describe("files that the model made", () => {
  test("FILE-11 they are stored, named in the response, the event and the message, and can be opened", async () => {
    const bytes = await testImage().bytes();
    const { model, adapter } = modelFor([{ text: "Here: .", files: [{ at: 6, mediaType: "image/png", data: bytes }] }]);
    const session = createSession();
    const events = recordEvents(session);
    const { files, messages } = await adapter.evaluate("Draw.", { session });
    expect(files).toMatchObject([{ kind: "stored", name: "image-1.png", mediaType: "image/png" }]);
    const [file] = files ?? [];
    expect(await (await openFile(file as FileRef)).bytes()).toEqual(bytes);
    expect(messages.at(-1)?.files).toEqual([{ at: 6, file }]);
    expect(events.find(({ type }) => type === "provider.responded")).toMatchObject({ files: [file] });
    const next = modelFor([{ text: "ok" }]);
    await next.adapter.evaluate("More.", { messages });
    expect(next.model.requests[0]?.messages[1]).toMatchObject({ text: "Here: [image image-1.png]." });
    expect(model.callCount).toBe(1);
  });
});

describe("a blob store in memory", () => {
  test("BLOB-1 the same bytes twice are one, and what is given out is a copy", async () => {
    const blobs = memoryBlobs({ maxBytes: 4 });
    const bytes = Uint8Array.of(1, 2, 3);
    const [one, two] = await Promise.all([blobs.put(bytes), blobs.put(bytes)]);
    expect(one).toEqual(two);
    bytes[0] = 9;
    expect(await blobs.get(one.hash)).toEqual(Uint8Array.of(1, 2, 3));
    await expect(blobs.put(Uint8Array.of(5, 6))).rejects.toMatchObject({ code: "blob", reason: "too_large" });
  });

  test("BLOB-5 sweep keeps what is named and what is young", async () => {
    const blobs = memoryBlobs();
    const kept = await blobs.put(Uint8Array.of(1));
    await blobs.put(Uint8Array.of(2, 3));
    expect(await blobs.sweep({ keep: [] })).toBe(0);
    expect(await blobs.sweep({ keep: [kept.hash], olderThanMs: 0 })).toBe(2);
    expect(await blobs.get(kept.hash)).toEqual(Uint8Array.of(1));
  });
});

test("LIM-2 a store that does not answer holds no evaluation past its deadline", async () => {
  const { clock } = fakeEnvironment();
  const made = { at: 0, mediaType: "image/png", data: await testImage().bytes() };
  const model = scriptedModel([{ text: "Here.", files: [made] }], { capabilities: { files: images } });
  const blobs = { ...memoryBlobs(), put: () => new Promise<never>(() => {}) };
  const evaluating = failureOf(
    modelAdapter(model, { clock }).evaluate("Draw.", {
      deadline: deadlineIn(300, clock),
      resources: [provide(Blobs, blobs)],
    }),
  );
  await clock.advance(300);
  expect(await evaluating).toMatchObject({ code: "deadline", phase: "response" });
});
