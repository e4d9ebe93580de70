import { openai, openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import { definePrompt, defineTool, linkedFile, toolOk, uploadedFile, type ModelRequest } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { recordEvents, testImage } from "@proviso/runtime/testing";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { startSimulator } from "@proviso/simulator";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const see = definePrompt({
  key: "see",
  params: z.object({ files: z.array(z.custom<File>(() => true)) }),
  sections: [{ key: "task", role: "user", text: "Compare {{files}} now.", cached: true }],
});
const photo = testImage({ width: 64, height: 64, name: "photo.png" });
const pdf = new File(["%PDF-1.7 and more"], "paper.pdf", { type: "application/pdf" });

async function inputOf(options: Partial<OpenAIOptions>, files: readonly unknown[], settings = {}) {
  await using simulator = await startSimulator({ steps: [{ text: "ok" }] });
  const adapter = openai({ model: "gpt-5.4", apiKey: "key-12345678", baseURL: simulator.baseURL, ...options } as never);
  await adapter.evaluate(see.bind({ files: files as File[] }), { settings });
  const body = simulator.requests[0]?.body as { input?: unknown[]; messages?: unknown[] };
  const [message] = (body.input ?? body.messages) as readonly { readonly content: unknown }[];
  return message?.content as readonly Record<string, unknown>[];
}

async function dataUrl(file: File): Promise<string> {
  return `data:${file.type};base64,${Buffer.from(await file.arrayBuffer()).toString("base64")}`;
}

describe("files on the wire", () => {
  test("FILE-2 responses: each file stands behind its label", async () => {
    expect(await inputOf({ api: "responses" }, [photo, pdf])).toEqual([
      { type: "input_text", text: "Compare [image photo.png]" },
      { type: "input_image", image_url: await dataUrl(photo) },
      { type: "input_text", text: " [file paper.pdf]" },
      { type: "input_file", filename: "paper.pdf", file_data: await dataUrl(pdf) },
      { type: "input_text", text: " now." },
    ]);
  });

  test("FILE-2 chat: a picture, a document and a sound", async () => {
    const wav = new File(["RIFF....WAVEfmt "], "a.wav", { type: "audio/wav" });
    const mp3 = new File(["ID3 and sound"], "a.mp3", { type: "audio/mpeg" });
    const parts = await inputOf({ api: "chat" }, [photo, pdf, wav, mp3]);
    expect(parts.filter(({ type }) => type !== "text")).toEqual([
      { type: "image_url", image_url: { url: await dataUrl(photo) } },
      { type: "file", file: { filename: "paper.pdf", file_data: await dataUrl(pdf) } },
      { type: "input_audio", input_audio: { data: (await dataUrl(wav)).split(",")[1], format: "wav" } },
      { type: "input_audio", input_audio: { data: (await dataUrl(mp3)).split(",")[1], format: "mp3" } },
    ]);
  });

  test("FILE-10 links and uploads go as they are, with the detail that was asked for", async () => {
    const link = linkedFile("https://example.com/a.png", { mediaType: "image/png", detail: "low" });
    const document = linkedFile("https://example.com/a.pdf", { mediaType: "application/pdf" });
    const upload = uploadedFile({ openai: "file-1" }, { mediaType: "image/png", name: "b.png" });
    const parts = await inputOf({ api: "responses" }, [link, document, upload]);
    expect(parts.filter(({ type }) => type !== "input_text")).toEqual([
      { type: "input_image", image_url: link.url, detail: "low" },
      { type: "input_file", file_url: document.url },
      { type: "input_image", file_id: "file-1" },
    ]);
  });

  test("FILE-10 chat takes no link of a document", async () => {
    const document = linkedFile("https://example.com/a.pdf", { mediaType: "application/pdf" });
    await expect(inputOf({ api: "chat" }, [document])).rejects.toThrow(
      /a\.pdf.*It takes links of pictures alone.* Give the bytes as a File\./,
    );
  });

  test.each(["responses", "chat"] as const)(
    "CCH-2 %s: a mark of the cache stands behind a text with files",
    async (api) => {
      const plain = await inputOf({ api }, [photo]);
      const marked = await inputOf({ api }, [photo], { cache: "auto" });
      expect(JSON.stringify(plain)).not.toContain("prompt_cache_breakpoint");
      expect(marked.map(({ prompt_cache_breakpoint: _, ...part }) => part)).toEqual(plain);
      expect(marked.map((part) => "prompt_cache_breakpoint" in part)).toEqual([false, false, true]);
    },
  );

  test.each(["responses", "chat"] as const)("FILE-16 %s: twenty turns over one file convert it once", async (api) => {
    await using simulator = await startSimulator({ rules: [() => ({ text: "ok" })] });
    const model = openaiModel({ api, model: "gpt-5.4", apiKey: "key-12345678", baseURL: simulator.baseURL });
    const bytes = new Uint8Array(await photo.arrayBuffer());
    const file = { kind: "stored", name: "p.png", mediaType: "image/png", hash: "a".repeat(64), bytes: 9 } as const;
    const first = { role: "user", text: "[image p.png]", files: [{ at: 13, file }] } as const;
    let asked = 0;
    const bytesOf = (): Uint8Array => {
      asked += 1;
      return bytes;
    };
    const more = { tools: [], settings: {}, providerTools: [], bytesOf, signal: new AbortController().signal };
    for (let turn = 0; turn < 20; turn++) {
      const later = Array.from({ length: turn }, () => ({ role: "user", text: "And?" }) as const);
      const cache = turn % 2 === 0 ? {} : { settings: { cache: "auto" as const } };
      await model.generate({ ...more, ...cache, messages: [first, ...later] } as unknown as ModelRequest);
    }
    expect(simulator.requests).toHaveLength(20);
    expect(asked).toBe(1);
  });
});

describe("files of tools", () => {
  const chart = defineTool({
    name: "chart",
    description: "Draws a chart.",
    input: z.object({}),
    execute: () => toolOk(null, { message: "Drawn.", files: [photo] }),
  });
  const draw = definePrompt({ key: "draw", sections: [{ key: "task", role: "user", text: "Draw.", tools: [chart] }] });

  test("FILE-8 responses holds them in the tool's answer", async () => {
    await using simulator = await startSimulator({
      steps: [{ toolCalls: [{ name: "chart", id: "call_1" }] }, { text: "ok" }],
    });
    await openai({ api: "responses", model: "gpt-5.4", apiKey: "key-12345678", baseURL: simulator.baseURL }).evaluate(
      draw.bind({}),
    );
    const body = simulator.requests[1]?.body as { readonly input: readonly unknown[] } | undefined;
    expect(body?.input.at(-1)).toMatchObject({
      type: "function_call_output",
      output: [{ type: "input_text" }, { type: "input_image", image_url: await dataUrl(photo) }],
    });
  });
});

describe("pictures that the model made", () => {
  const data = Buffer.from(crypto.getRandomValues(new Uint8Array(6_000)));
  data.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const message = (text: string) => ({
    id: "msg_1",
    type: "message",
    status: "completed",
    role: "assistant",
    content: [{ type: "output_text", text, annotations: [] }],
  });
  const made = { id: "ig_1", type: "image_generation_call", status: "completed", output_format: "png" };
  const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10 };
  const answer = (store: boolean) =>
    answering(200, {
      id: "resp_1",
      object: "response",
      status: "completed",
      model: "gpt-5.4",
      store,
      usage,
      output: [message("Here it is:"), { ...made, result: data.toString("base64") }],
    });

  test.each([true, false])(
    "FILE-1 FILE-11 they are stored, named and never in a message (store: %s)",
    async (store) => {
      await using server = await startServer(answer(store));
      const adapter = openai({
        api: "responses",
        model: "gpt-5.4",
        apiKey: "key-12345678",
        baseURL: server.baseURL,
        store,
      });
      const session = createSession();
      const events = recordEvents(session);
      const first = await adapter.evaluate("Draw a cat.", { session });
      expect(first.files).toMatchObject([{ kind: "stored", mediaType: "image/png", bytes: 6_000 }]);
      const { messages } = first;
      expect(messages.at(-1)).toMatchObject({ files: [{ at: 11 }] });
      const all = JSON.stringify([first, events, session.toJSON()]);
      expect(all).not.toContain(data.subarray(3_000, 3_066).toString("base64").slice(4, 80));
      await adapter.evaluate("Now a dog.", { session, messages });
      const body = server.requests[1]?.body as { readonly input: readonly unknown[] } | undefined;
      const items = store
        ? [message("Here it is:"), { type: "image_generation_call", id: "ig_1" }]
        : [{ role: "assistant", content: "Here it is:[image image-1.png]" }];
      expect(body?.input.slice(1, -1)).toEqual(items);
      const settings = { providerOptions: { openai: { store: false } } };
      await adapter.evaluate("Now a cow.", { session, messages, settings });
      const unstored = server.requests[2]?.body as { readonly input: readonly unknown[] } | undefined;
      expect(unstored?.input.slice(1, -1)).toEqual([{ role: "assistant", content: "Here it is:[image image-1.png]" }]);
    },
  );
});
