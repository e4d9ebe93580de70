import { AbortedError, DeadlineExceededError, deadlineIn, definePrompt } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel, testImage } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const takesAll = {
  files: { types: ["image/*", "audio/*", "video/*", "application/*", "text/*"], from: ["stored"] },
} as const;
const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "What is it? {{photo}}" });

/** The platform's file, which says when it is read, and how often. */
class WatchedFile extends File {
  reads = 0;
  readonly #read: () => Promise<void>;
  constructor(bytes: Uint8Array<ArrayBuffer>, read: () => Promise<void>) {
    super([bytes], "photo.png", { type: "image/png" });
    this.#read = read;
  }
  override async arrayBuffer(): Promise<ArrayBuffer> {
    this.reads++;
    await this.#read();
    return super.arrayBuffer();
  }
}
const png = Uint8Array.from(await testImage().bytes());
const never = (): Promise<void> => new Promise(() => {});

describe("FILE-3 reading", () => {
  test("FILE-3 rendering reads nothing: the bytes are read after it, once, and before prompt.rendered", async () => {
    const order: string[] = [];
    const photo = new WatchedFile(png, async () => void order.push("read"));
    const bound = see.bind({ photo });
    bound.render();
    bound.render();
    expect(photo.reads).toBe(0);
    const session = createSession();
    session.on("prompt.rendered", () => void order.push("rendered"));
    const model = scriptedModel([{ text: "one" }, { text: "two" }], { capabilities: takesAll });
    await modelAdapter(model).evaluate(bound, { session });
    await modelAdapter(model).evaluate(bound, { session });
    expect([order, photo.reads]).toEqual([["read", "rendered", "rendered"], 1]);
  });

  test("FILE-3 a file that stands at two places is read once", async () => {
    const twice = definePrompt({
      key: "twice",
      params: z.object({ photo: z.file() }),
      text: "{{photo}} and {{photo}}",
    });
    const photo = new WatchedFile(png, async () => {});
    const model = scriptedModel([{ text: "ok" }], { capabilities: takesAll });
    await modelAdapter(model).evaluate(twice.bind({ photo }));
    expect([photo.reads, model.requests[0]?.messages[0]?.files?.length]).toEqual([1, 2]);
  });

  test("FILE-3 LIM-1 an abort ends an evaluation whose file is never read to its end", async () => {
    const model = scriptedModel([], { capabilities: takesAll });
    const session = createSession();
    const events = recordEvents(session);
    const controller = new AbortController();
    const photo = new WatchedFile(png, never);
    const evaluating = modelAdapter(model).evaluate(see.bind({ photo }), { session, signal: controller.signal });
    setTimeout(() => controller.abort(), 5);
    await expect(evaluating).rejects.toBeInstanceOf(AbortedError);
    expect(events.map(({ type }) => type)).not.toContain("prompt.rendered");
  });

  test("FILE-3 LIM-1 a deadline ends it, too", async () => {
    const model = scriptedModel([], { capabilities: takesAll });
    const photo = new WatchedFile(png, never);
    const evaluating = modelAdapter(model).evaluate(see.bind({ photo }), { deadline: deadlineIn(20) });
    await expect(evaluating).rejects.toBeInstanceOf(DeadlineExceededError);
  });

  test("FILE-3 a file that cannot be read is a PromptRenderError that names it, and nothing is emitted but its end", async () => {
    const model = scriptedModel([], { capabilities: takesAll });
    const session = createSession();
    const events = recordEvents(session);
    const photo = new WatchedFile(png, () => Promise.reject(new Error("The disk is gone.")));
    const error = await modelAdapter(model)
      .evaluate(see.bind({ photo }), { session })
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "render", cause: { code: "blob", reason: "failed", file: "photo.png" } });
    expect((error as Error).message).toContain("photo.png could not be read: The disk is gone.");
    expect(events.map(({ type }) => type)).not.toContain("prompt.rendered");
  });
});

/** What each format begins with. Sources: the formats' specifications. */
const formats: readonly (readonly [type: string, name: string, begins: string])[] = [
  ["image/png", "a.png", "\u0089PNG\r\n\u001a\n\0\0\0\rIHDR"],
  ["image/jpeg", "a.jpg", "\u00ff\u00d8\u00ff\u00e0\0\u0010JFIF\0"],
  ["image/gif", "a.gif", "GIF89a\u0001\0\u0001\0"],
  ["image/gif", "b.gif", "GIF87a\u0001\0\u0001\0"],
  ["image/webp", "a.webp", "RIFF\u0024\0\0\0WEBPVP8 "],
  ["image/heic", "a.heic", "\0\0\0\u0018ftypheic\0\0\0\0mif1heic"],
  ["application/pdf", "a.pdf", "%PDF-1.7\n"],
  ["audio/wav", "a.wav", "RIFF\u0024\0\0\0WAVEfmt "],
  ["audio/mpeg", "a.mp3", "ID3\u0004\0\0\0\0\0\0"],
  ["audio/mpeg", "b.mp3", "\u00ff\u00fb\u0090\u0064\0\0\0\0"],
  ["audio/ogg", "a.ogg", "OggS\0\u0002\0\0\0\0\0\0\0\0"],
  ["audio/flac", "a.flac", "fLaC\0\0\0\u0022"],
  ["video/mp4", "a.mp4", "\0\0\0\u0020ftypisom\0\0\u0002\0isomiso2"],
  ["video/webm", "a.webm", "\u001a\u0045\u00df\u00a3\u009f\u0042\u0086\u0081\u0001\u0042\u0082\u0084webm"],
];
const fileOf = (begins: string, name: string, type: string): File =>
  new File([Buffer.from(begins.padEnd(64, "\0"), "latin1")], name, { type });

/** The type that the model gets the file with; what the evaluation says where it is refused. */
async function typeSent(photo: File): Promise<string> {
  const model = scriptedModel([{ text: "ok" }], { capabilities: takesAll });
  try {
    await modelAdapter(model).evaluate(see.bind({ photo }));
    return model.requests[0]?.messages[0]?.files?.[0]?.file.mediaType ?? "none";
  } catch (error) {
    expect(error).toMatchObject({ code: "render", cause: { code: "blob", reason: "media_type", file: photo.name } });
    expect(model.callCount).toBe(0);
    return (error as Error).message;
  }
}

describe("FILE-5 the type of a file", () => {
  test.each(formats)("FILE-5 %s (%s) is known by its bytes, whatever is claimed", async (type, name, begins) => {
    expect(await typeSent(fileOf(begins, name, ""))).toBe(type);
    expect(await typeSent(fileOf(begins, name, "application/octet-stream"))).toBe(type);
    expect(await typeSent(fileOf(begins, name, type.toUpperCase()))).toBe(type);
    for (const [other] of formats.filter(([one]) => one !== type)) {
      const refused = await typeSent(fileOf(begins, name, other));
      expect(refused).toContain(`The file ${name} claims to be ${other}, but its bytes are ${type}.`);
    }
    for (const other of ["text/plain", "application/json", "image/svg+xml"]) {
      expect(await typeSent(fileOf(begins, name, other))).toContain(
        `claims to be ${other}, but its bytes are ${type}.`,
      );
    }
  });

  test.each(formats)("FILE-5 bytes of no known format are no %s", async (type, name) => {
    expect(await typeSent(fileOf("plain", name, type))).toContain("but its bytes are no such file.");
    // A format is not known by half of what it begins with.
    expect(await typeSent(new File([Uint8Array.of(0x89)], name, { type }))).toContain(
      "but its bytes are no such file.",
    );
  });

  test.each([
    ["image/jpg", "\u00ff\u00d8\u00ff\u00e0", "image/jpeg"],
    ["audio/x-wav", "RIFF....WAVE", "audio/wav"],
    ["audio/mp3", "ID3\u0004", "audio/mpeg"],
    ["audio/mp4", "\0\0\0\u0018ftypM4A ", "audio/mp4"],
    ["video/quicktime", "\0\0\0\u0014ftypqt  ", "video/mp4"],
    ["audio/webm", "\u001a\u0045\u00df\u00a3\u009f\u0042\u0082\u0084webm", "audio/webm"],
    ["image/avif", "\0\0\0\u0020ftypavif\0\0\0\0", "image/avif"],
    ["image/svg+xml", "<svg/>", "image/svg+xml"],
    ["text/plain; charset=utf-8", "a note", "text/plain"],
    ["", "a note", "application/octet-stream"],
    ["nonsense", "a note", "application/octet-stream"],
  ])(
    "FILE-5 a file that claims %j goes by its name where the bytes do not speak against it",
    async (type, begins, sent) => {
      expect(await typeSent(fileOf(begins, "a.bin", type))).toBe(sent);
    },
  );

  test("FILE-5 an empty file is none, whatever it claims", async () => {
    for (const type of ["", "text/plain", "image/png"]) {
      expect(await typeSent(new File([], "a.bin", { type }))).toContain("The file a.bin is empty");
    }
  });
});
