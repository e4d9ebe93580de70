import { definePrompt, type FileRef } from "@proviso/core";
import { testImage } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { acting } from "./support.ts";

const see = definePrompt({
  ns: "acp",
  key: "see",
  params: z.object({ file: z.custom<File | FileRef>(() => true) }),
  sections: [{ key: "request", text: "What is {{file}}?", role: "user" }],
});

test.each([
  ["a picture", testImage({ name: "photo.png" }), "image"],
  ["a sound", new File(["RIFF....WAVEfmt "], "voice.wav", { type: "audio/wav" }), "audio"],
  ["a document", new File(["%PDF-1.7 "], "paper.pdf", { type: "application/pdf" }), "embeddedContext"],
])("FILE-6 an agent that does not offer to take %s is not given it", async (_, file, needs) => {
  const error = await acting("plain")
    .evaluate(see.bind({ file }))
    .catch((caught: unknown) => caught);
  expect(error).toMatchObject({ code: "provider", reason: "bad_request" });
  expect(String(error)).toContain(`cannot take the file ${file.name} (${file.type}): it does not offer "${needs}".`);
});
