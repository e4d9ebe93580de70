// A journal keeps references to files. What is inside them is in no entry, and in nothing that lies on the disk.
import { Blobs, definePrompt, defineTool, provide, toolError, toolOk } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { createSession, memoryBlobs, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

const png = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
function picture(name: string): { readonly file: File; readonly bytes: Uint8Array } {
  const bytes = crypto.getRandomValues(new Uint8Array(9_000));
  bytes.set(png);
  return { file: new File([bytes], name, { type: "image/png" }), bytes };
}
const given = picture("given.png");
const drawn = picture("drawn.png");
const failed = picture("failed.png");

const draw = defineTool({
  name: "draw",
  description: "Draws.",
  input: z.object({ well: z.boolean() }),
  execute: ({ well }) => (well ? toolOk(null, { message: "Drawn.", files: [drawn.file] }) : toolError("It is torn.")),
});
const prompt = definePrompt({
  key: "look",
  params: z.object({ photo: z.file() }),
  sections: [{ key: "task", role: "user", text: "{{photo}}", tools: [draw] }],
}).bind({ photo: given.file });

const echo = Buffer.from(failed.bytes).toString("base64");
const steps: readonly ScriptedStep[] = [
  { toolCalls: [{ name: "draw", arguments: { well: true } }] },
  { toolCalls: [{ name: "draw", arguments: { well: false } }] },
  // The service sends back what it did not take.
  { failure: "provider", reason: "bad_request", message: "It cannot be read.", payload: { image: echo } },
];

const journals: Readonly<Record<string, (path: string) => Journal>> = {
  memory: () => memoryJournal(),
  "an SQLite file": (path) => sqliteJournal(join(path, "runs.db")),
  "a folder": (path) => folderJournal(join(path, "runs")),
};

test.each(Object.entries(journals))(
  "FILE-1 JRN-6 64 bytes from inside a file are in no entry of %s",
  async (_, make) => {
    const path = await folder();
    const journal = make(path);
    const session = createSession();
    const events = recordEvents(session);
    const adapter = modelAdapter(
      scriptedModel(steps, { capabilities: { files: { types: ["image/*"], from: ["stored"] } } }),
    );
    const resources = [provide(Blobs, memoryBlobs())];
    const error: unknown = await adapter
      .evaluate(prompt, { session, resources, run: journal.run("r") })
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "provider" });
    const entries = await listed(journal.entries("r"));
    await (journal as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.();
    const files = (await readdir(path, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
    const onDisk = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name))));
    const shown = [entries, events, session, error, (error as Error).cause]
      .map((each) => JSON.stringify(each))
      .join("\n");
    expect(shown).toContain("given.png");
    expect(shown).toContain("drawn.png");
    if (files.length > 0) expect(Buffer.concat(onDisk).includes("given.png")).toBe(true);
    for (const { bytes } of [given, drawn, failed]) {
      const inside = Buffer.from(bytes.subarray(4_500, 4_566));
      expect(onDisk.some((content) => content.includes(inside.subarray(0, 64)))).toBe(false);
      for (const form of [
        inside.toString("base64").slice(4, 80),
        inside.toString("base64url").slice(4, 80),
        inside.toString("hex").slice(0, 128),
        [...inside.subarray(0, 64)].join(","),
        JSON.stringify(inside.toString("latin1")).slice(1, -1),
      ]) {
        expect(shown).not.toContain(form);
        expect(onDisk.some((content) => content.includes(form))).toBe(false);
      }
    }
  },
);
