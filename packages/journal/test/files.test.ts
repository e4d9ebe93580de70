import {
  Blobs,
  definePrompt,
  defineTool,
  provide,
  toolOk,
  type FileSupport,
  type ModelProvider,
  type StoredFile,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { folderJournal, sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { folderBlobs } from "@proviso/node";
import { memoryBlobs, modelAdapter, openFile } from "@proviso/runtime";
import { scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-files-"));
  folders.push(folder);
  return folder;
}

/** A picture of its own for each width. */
const picture = (width: number): File => testImage({ width, height: 9, name: `${width}.png` });
const made = picture(77);
const madeBytes = new Uint8Array(await made.arrayBuffer());

const chart = (done: string[] = []) =>
  defineTool({
    name: "chart",
    description: "Draws a chart.",
    input: z.object({}),
    idempotent: true,
    execute() {
      done.push("chart");
      return toolOk("drawn", { files: [picture(33)] });
    },
  });
const see = (done: string[] = []) =>
  definePrompt({
    ns: "test",
    key: "see",
    params: z.object({ file: z.file() }),
    sections: [{ key: "task", text: "What is it? {{file}}", role: "user", tools: [chart(done)] }],
  }).bind({ file: picture(11) });

const files: FileSupport = { types: ["image/*"], from: ["stored"], inToolResults: ["image/*"], inAnswers: ["image/*"] };
const drawing: ScriptedStep = { toolCalls: [{ name: "chart", arguments: {} }] };
const generating: ScriptedStep = {
  text: "Look: ",
  toolCalls: [{ name: "chart", arguments: {} }],
  files: [{ at: 6, mediaType: "image/png", name: "made.png", data: madeBytes }],
} as ScriptedStep;
const alone: ScriptedStep = {
  text: "Look: ",
  files: [{ at: 6, mediaType: "image/png", name: "made.png", data: madeBytes }],
};
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const adapterOf = (steps: readonly ScriptedStep[]) =>
  modelAdapter(scriptedModel(steps, { capabilities: { files } }), { throttle: { maxAttempts: 1 } });

const widthsOf = (found: readonly unknown[] | undefined): unknown =>
  (found as readonly StoredFile[] | undefined)?.map(({ width }) => width);

const journals: readonly [string, (folder: string) => Journal][] = [
  ["an SQLite file", (folder) => sqliteJournal(join(folder, "runs.sqlite"))],
  ["a folder", (folder) => folderJournal(join(folder, "runs"))],
];

it.each(journals)(
  "JRN-6 RSM-2 files of a run in %s are there when it goes on, and no entry has bytes",
  async (_, open) => {
    const folder = await newFolder();
    const first = open(folder);
    const failing = adapterOf([drawing, generating, cut]).evaluate(see(), { run: first.run("r") });
    await expect(failing).rejects.toThrow("The line is cut.");
    const text = JSON.stringify(await listed(first.entries("r")));
    const base64 = Buffer.from(madeBytes).toString("base64");
    expect(text).toContain('"name":"made.png"');
    expect(text).not.toContain(base64.slice(20, 84));
    await first.close();

    const done: string[] = [];
    const second = open(folder);
    const model = scriptedModel([{ text: "Two charts." }], { capabilities: { files } });
    const response = await modelAdapter(model).evaluate(see(done), { run: second.run("r") });
    expect([response.text, done, widthsOf(response.files)]).toEqual(["Two charts.", [], [77]]);
    // The request has the bytes of all of them.
    const [request] = model.requests;
    const sent =
      request?.messages.flatMap((message) => message.files ?? []).map(({ file }) => file as StoredFile) ?? [];
    expect(widthsOf(sent)).toEqual([11, 33, 77, 33]);
    expect(sent.map((file) => request?.bytesOf?.(file).length)).toEqual(sent.map(({ bytes }) => bytes));

    const again: string[] = [];
    for (const tools of ["recorded", "run"] as const) {
      const replayed = await replay(see(again), second.replay("r", { tools }));
      expect([replayed.response?.text, widthsOf(replayed.response?.files)]).toEqual(["Two charts.", [77]]);
    }
    expect(again).toEqual(["chart", "chart"]);
    const forked = adapterOf([{ text: "Forked." }]).evaluate(see(), { run: second.fork("r", { at: 3, id: "fork" }) });
    expect(widthsOf((await forked).files)).toEqual([77]);
    await second.close();
  },
);

it("JRN-6 Blobs of the evaluation come before the journal's, and a journal without a folder keeps no bytes", async () => {
  const folder = await newFolder();
  const blobs = memoryBlobs();
  const journal = sqliteJournal(join(folder, "runs.sqlite"));
  const response = await adapterOf([alone]).evaluate(see(), {
    run: journal.run("r"),
    resources: [provide(Blobs, blobs)],
  });
  const [file] = response.files ?? [];
  if (file?.kind !== "stored") throw new Error("The model made a file.");
  expect(await blobs.get(file.hash)).toEqual(madeBytes);
  expect(await openFile(file, blobs)).toBeInstanceOf(File);
  await journal.close();

  const inMemory = memoryJournal();
  const only = await adapterOf([alone]).evaluate(see(), {
    run: inMemory.run("r"),
  });
  expect(widthsOf(only.files)).toEqual([77]);
  // A replay sends nothing, so it needs no bytes.
  expect(widthsOf((await replay(see(), inMemory.replay("r"))).response?.files)).toEqual([77]);
});

it("RPL-4 another picture than the recorded one is named", async () => {
  const journal = memoryJournal();
  await adapterOf([{ text: "A grey one." }]).evaluate(see(), { run: journal.run("r") });
  const other = definePrompt({
    ns: "test",
    key: "see",
    params: z.object({ file: z.file() }),
    sections: [{ key: "task", text: "What is it? {{file}}", role: "user", tools: [chart()] }],
  }).bind({ file: testImage({ width: 12, height: 9, name: "11.png" }) });
  await expect(replay(other, journal.replay("r"))).rejects.toMatchObject({
    reason: "diverged",
    divergence: { step: 0 },
  });
});

it("RSM-2 a run whose files are nowhere is refused, and goes on where their bytes are there again", async () => {
  const journal = memoryJournal();
  const blobs = memoryBlobs();
  const kept = { resources: [provide(Blobs, blobs)] };
  await expect(adapterOf([drawing, cut]).evaluate(see(), { run: journal.run("r"), ...kept })).rejects.toThrow(
    "The line",
  );
  const ends = async (): Promise<number> =>
    (await listed(journal.entries("r"))).filter(({ kind, isVoid }) => kind === "ended" && !isVoid).length;
  expect(await ends()).toBe(1);
  const failing = adapterOf([]).evaluate(see(), { run: journal.run("r"), resources: [provide(Blobs, memoryBlobs())] });
  await expect(failing).rejects.toMatchObject({
    code: "run",
    reason: "state",
    message: expect.stringContaining("The bytes of the file 33.png"),
  });
  expect(await ends()).toBe(1);
  const { text } = await adapterOf([{ text: "A chart." }]).evaluate(see(), { run: journal.run("r"), ...kept });
  expect(text).toBe("A chart.");
});

it("FILE-17 RPL-1 what is answered from a record needs no bytes of a stored file that it is given", async () => {
  const journal = memoryJournal();
  const blobs = memoryBlobs();
  const { hash } = await blobs.put(madeBytes);
  const stored = { kind: "stored", name: "77.png", mediaType: "image/png", hash, bytes: madeBytes.length } as const;
  const seen = definePrompt({
    key: "seen",
    params: z.object({ file: z.custom<StoredFile>(() => true) }),
    text: "What is it? {{file}}",
  }).bind({ file: stored });
  const kept = { resources: [provide(Blobs, blobs)] };
  await adapterOf([{ text: "A chart." }]).evaluate(seen, { run: journal.run("r"), ...kept });
  expect((await adapterOf([]).evaluate(seen, { run: journal.run("r") })).text).toBe("A chart.");
  expect((await replay(seen, journal.replay("r"))).response?.text).toBe("A chart.");
});

it("FILE-17 RPL-1 tokens of files that were estimated by the adapter's own bound are the recorded ones", async () => {
  const journal = memoryJournal();
  const bounded = { ...files, tokensOf: () => 4_321 };
  const model = scriptedModel([drawing, { text: "A chart." }], { capabilities: { files: bounded } });
  const silent: ModelProvider = {
    ...model,
    generate: async (request) => ({ ...(await model.generate(request)), usage: undefined }),
  };
  const adapter = modelAdapter(silent);
  const { usage } = await adapter.evaluate(see(), { run: journal.run("r") });
  expect(usage).toMatchObject({ estimated: true });
  expect(usage.inputTokens).toBeGreaterThan(3 * 4_321);
  for (const tools of ["recorded", "run"] as const) {
    expect((await replay(see(), journal.replay("r", { tools }))).response?.usage).toEqual(usage);
  }
});

it("FILE-17 FILE-6 RPL-7 a file that the model did not take is refused in a replay as it was", async () => {
  const journal = memoryJournal();
  const adapter = modelAdapter(
    scriptedModel([], { capabilities: { files: { types: ["image/jpeg"], from: ["stored"] } } }),
  );
  const refused: unknown = await adapter.evaluate(see(), { run: journal.run("r") }).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "provider", reason: "bad_request" });
  const { message } = refused as Error;
  expect((await replay(see(), journal.replay("r"))).failure).toMatchObject({ reason: "bad_request", message });
  await expect(adapter.evaluate(see(), { run: journal.run("r") })).rejects.toMatchObject({ message });
});

it.each([
  ["SQLite", (folder: string) => [sqliteJournal(join(folder, "runs.sqlite")), join(folder, "runs.sqlite.files")]],
  ["a folder", (folder: string) => [folderJournal(join(folder, "runs")), join(folder, "runs", "files")]],
] as const)("BLOB-4 CTX-11 JRN-6 messages that give way are kept beside the journal in %s", async (_, open) => {
  const [journal, path] = open(await newFolder()) as [Journal & AsyncDisposable, string];
  const tool = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "x".repeat(900) });
  const prompt = definePrompt({ key: "long", sections: [{ key: "task", text: "Look around.", tools: [tool] }] }).bind();
  const steps = Array.from({ length: 12 }, (): ScriptedStep => ({ toolCalls: [{ name: "look", arguments: {} }] }));
  const options = { context: { window: 3_000, keepTurns: 1 } };
  const first = await adapterOf([...steps, { text: "Done." }]).evaluate(prompt, { ...options, run: journal.run("r") });
  const events = (await listed(journal.entries("r"))).flatMap((entry) => (entry.kind === "event" ? [entry.event] : []));
  const [compacted] = events.flatMap((event) => (event.type === "history.compacted" ? [event] : []));
  const blobs = folderBlobs(path);
  const file = await openFile(JSON.parse(JSON.stringify(compacted?.transcript)) as StoredFile, blobs);
  expect(JSON.parse(await file.text())).toEqual(expect.arrayContaining([first.messages[0]]));

  // A replay is answered from the record, and stores nothing.
  await rm(path, { recursive: true });
  const replayed = await adapterOf([]).evaluate(prompt, { ...options, run: journal.replay("r") });
  expect(replayed.messages).toEqual(first.messages);
  await expect(access(path)).rejects.toMatchObject({ code: "ENOENT" });
  await journal[Symbol.asyncDispose]();
});
