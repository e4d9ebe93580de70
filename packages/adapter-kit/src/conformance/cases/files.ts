import { definePrompt, defineTool, linkedFile, toolOk, uploadedFile, type FileRef, type Schema } from "@proviso/core";
import { testImage } from "@proviso/runtime/testing";
import { expect } from "vitest";
import { answered, eventsOf, whyOf, type Bench, type ConformanceCase, type Played } from "../kit.ts";
import { schemaFrom } from "../schemas.ts";
import type { ConformanceFile } from "../script.ts";
import { expectSent } from "../sent.ts";

interface WithFile {
  readonly file: File | FileRef;
}
const params: Schema<WithFile, WithFile> = {
  "~standard": {
    version: 1,
    vendor: "proviso",
    validate: (value) => ({ value: value as WithFile }),
    jsonSchema: {
      input: () => ({ type: "object", properties: { file: {} } }),
      output: () => ({ type: "object", properties: { file: {} } }),
    },
  },
};
const see = definePrompt({
  ns: "conformance",
  key: "see",
  params,
  sections: [{ key: "request", role: "user", text: "What is this? {{file}} Be brief." }],
});

/** Bytes that differ everywhere, behind what a format begins with. */
function bytesOf(beginning: string, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let state = 12_345;
  for (let at = 0; at < length; at++) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    bytes[at] = at < beginning.length ? beginning.charCodeAt(at) : state >> 16;
  }
  return bytes;
}

const picture = testImage({ width: 40, height: 30, name: "photo.png" });
const pdf = new File([bytesOf("%PDF-1.7\n", 6_000)], "paper.pdf", { type: "application/pdf" });
const sound = new File([bytesOf("RIFF....WAVE", 6_000)], "voice.wav", { type: "audio/wav" });
const table = new File(["a,b\n1,2\n"], "table.csv", { type: "text/csv" });

async function hashOf(file: File): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** What was refused says what would be taken, and nothing was sent. */
function expectRefused(played: Played<string>, name: string): void {
  expect(whyOf(played)).toBe("provider: bad_request");
  expect(played.error?.message).toContain(name);
  expect(played.requests, "nothing was sent").toEqual([]);
  expect(eventsOf(played, "provider.requested")).toEqual([]);
}

/** The files of a prompt as the service read them; undefined: refused before anything was sent. */
async function sentFiles({ play }: Bench, file: File | FileRef): Promise<readonly ConformanceFile[] | undefined> {
  const played = await play([{ text: "A thing." }], see.bind({ file }));
  if (played.error !== undefined) {
    expectRefused(played, file.name);
    return undefined;
  }
  expect(answered(played).output).toBe("A thing.");
  const { messages } = expectSent(played.requests[0]);
  const message = messages.find(({ role }) => role === "user");
  expect(message?.text, "FILE-2 the label stands in the text").toContain(`${file.name}] Be brief.`);
  return message?.files ?? [];
}

const chart = defineTool({
  name: "chart",
  description: "Draws a chart.",
  input: schemaFrom<object>({ type: "object", properties: {}, additionalProperties: false }),
  execute: () => toolOk("done", { message: "Drawn.", files: [picture] }),
});
const draw = definePrompt({
  ns: "conformance",
  key: "draw",
  sections: [{ key: "request", role: "user", text: "Draw a chart.", tools: [chart] }],
});

/** A picture, a document, a sound and a text, links and uploads, in prompts and in the answers of tools. */
export const fileCases: readonly ConformanceCase[] = [
  ...[picture, pdf, sound].map((file): ConformanceCase => ({
    title: `FILE-2 FILE-6 ${file.name} reaches the service byte for byte, or nothing is sent`,
    async run(bench) {
      const files = await sentFiles(bench, file);
      if (files !== undefined) expect(files.map(({ hash }) => hash)).toEqual([await hashOf(file)]);
    },
  })),
  {
    title: "FILE-9 a text file reaches the model as a file or as text",
    async run({ play }) {
      const played = await play([{ text: "A table." }], see.bind({ file: table }));
      const { messages } = expectSent((answered(played), played.requests[0]));
      const message = messages.find(({ role }) => role === "user");
      if (message?.files === undefined) expect(message?.text).toContain("```table.csv\na,b\n1,2\n```");
      else expect(message.files.map(({ hash }) => hash)).toEqual([await hashOf(table)]);
    },
  },
  {
    title: "FILE-6 FILE-10 a link and an upload reach the service as they are, or nothing is sent",
    async run(bench) {
      const link = linkedFile("https://example.com/a/photo.png", { mediaType: "image/png" });
      const linked = await sentFiles(bench, link);
      if (linked !== undefined) expect(linked.map(({ url }) => url)).toEqual([link.url]);
      const ids = { openai: "file-abc", anthropic: "file-abc", google: "https://files.example/file-abc" };
      const upload = uploadedFile(ids, { mediaType: "application/pdf", name: "paper.pdf" });
      const uploaded = await sentFiles(bench, upload);
      if (uploaded !== undefined) expect(uploaded.map(({ id, url }) => id ?? url)[0]).toContain("file-abc");
      const elsewhere = uploadedFile({ elsewhere: "file-1" }, { mediaType: "application/pdf", name: "paper.pdf" });
      expect(await sentFiles(bench, elsewhere), "the id of another service").toBeUndefined();
    },
  },
  {
    title: "FILE-7 FILE-8 TOOL-1 a tool's picture is in its answer, behind it, or a line of it",
    async run({ play }) {
      const script = [{ toolCalls: [{ name: "chart", id: "call_1" }] }, { text: "Done." }];
      const played = await play(script, draw.bind({}));
      expect(answered(played).output).toBe("Done.");
      const { messages } = expectSent(played.requests[1]);
      const holders = messages.filter(({ files = [] }) => files.length > 0);
      const tool = messages.find(({ role }) => role === "tool");
      if (holders.length === 0) expect(tool?.text).toContain("photo.png, ");
      else expect(holders.flatMap(({ files = [] }) => files.map(({ hash }) => hash))).toEqual([await hashOf(picture)]);
      if (holders[0]?.role === "user") expect(holders[0].text).toBe("Result of chart (call_1): [image photo.png]");
    },
  },
  {
    title: "FILE-1 64 bytes from inside a file are in no event, error or message",
    async run({ play }) {
      const played = await play([{ text: "A thing." }], see.bind({ file: pdf }));
      const all = JSON.stringify([played.events, played.session.toJSON(), played.response, played.error]);
      const inside = [...new Uint8Array(await pdf.arrayBuffer()).subarray(3_000, 3_066)];
      const base64 = btoa(String.fromCharCode(...inside)).slice(4, 80);
      expect(all).toContain("paper.pdf");
      for (const form of [base64, base64.replaceAll("+", "-").replaceAll("/", "_"), inside.slice(0, 64).join(",")]) {
        expect(all.includes(form), form).toBe(false);
      }
    },
  },
];
