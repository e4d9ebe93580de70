// Every value that comes from outside goes through the record: it is replayed, and gone on with, when the outside is gone.
import {
  Blobs,
  definePrompt,
  defineTool,
  Filesystem,
  provide,
  toolOk,
  type EvaluateOptions,
  type FileSupport,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type Tool,
} from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { connectMcp, mcpTools } from "@proviso/mcp";
import { fileAt, folderBlobs } from "@proviso/node";
import { memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { readSkills, skillsSection } from "@proviso/toolkit";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { fromSources } from "../../scripts/from-sources.ts";

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-outside-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const call = (name: string, given: object = {}): ScriptedStep => ({ toolCalls: [{ name, arguments: given }] });
const gone = (): never => {
  throw new Error("The outside is gone.");
};
const asksNothing = (): ProviderAdapter => modelAdapter(scriptedModel([]));

async function entriesOf(journal: Journal): Promise<readonly JournalEntry[]> {
  const entries: JournalEntry[] = [];
  for await (const entry of journal.entries("r")) entries.push(entry);
  return entries;
}

/** The journal as a process leaves it that ended before its last request. */
async function beforeLastRequest(journal: Journal): Promise<Journal> {
  const entries = await entriesOf(journal);
  const own = entries[0]?.evaluationId;
  const count = entries.findLastIndex(({ kind, evaluationId }) => kind === "asked" && evaluationId === own);
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

type Given = Omit<EvaluateOptions, "run" | "session">;

/** Replays a run, and goes on with it, where nothing outside is there but the model for the last answer. */
async function withoutOutside(
  journal: Journal,
  {
    prompt,
    given = {},
    last,
  }: { readonly prompt: Prompt; readonly given?: Given; readonly last: readonly ScriptedStep[] },
  recorded: PromptResponse<unknown>,
): Promise<void> {
  const { resources, policies, overrides, context } = given;
  const options = Object.fromEntries(
    Object.entries({ resources, policies, overrides, context }).filter(([, value]) => value !== undefined),
  );
  const replayed = await replay(prompt, journal.replay("r"), options);
  const shown = ({ run: _, providerPayload: __, ...response }: PromptResponse<unknown>): unknown => response;
  expect(JSON.stringify(shown(replayed.response as PromptResponse<unknown>))).toBe(JSON.stringify(shown(recorded)));
  const cut = await beforeLastRequest(journal);
  const model = scriptedModel(last, { capabilities: { files } });
  const response = await modelAdapter(model).evaluate(prompt, { ...given, run: cut.run("r", { takeOver: true }) });
  expect(response.text).toBe(recorded.text);
  const asked = model.requests.at(-1)?.messages.filter(({ role }) => role !== "system");
  expect(asked?.map(({ role, text }) => [role, text])).toEqual(
    recorded.messages.slice(0, -1).map(({ role, text }) => [role, text]),
  );
}

const files: FileSupport = { types: ["image/*"], from: ["stored"], inToolResults: ["image/*"], inAnswers: ["image/*"] };

test("JRN-1 RPL-1 a summary of the context policy is not written again", async () => {
  const long = defineTool({
    name: "long",
    description: "Returns much.",
    input: z.object({}),
    readOnly: true,
    execute: () => "many words ".repeat(60),
  });
  const short = defineTool({ ...long, name: "short", execute: () => "few" });
  const prompt = definePrompt({ key: "long", sections: [{ key: "s", text: "Read.", tools: [long, short] }] }).bind();
  const journal = memoryJournal();
  const writer = scriptedModel([{ text: "All of it was long." }, { text: "Still long." }]);
  const steps = [call("long"), call("long"), call("long"), call("short"), call("short"), { text: "Read." }];
  const contextWith = (adapter: ProviderAdapter): EvaluateOptions["context"] => ({
    window: 1_200,
    keepTurns: 1,
    summary: { adapter, maxTokens: 50 },
  });
  const response = await modelAdapter(scriptedModel(steps)).evaluate(prompt, {
    run: journal.run("r"),
    context: contextWith(modelAdapter(writer)),
  });
  expect(writer.callCount).toBeGreaterThan(0);
  expect(response.messages.some(({ text }) => text.includes("long."))).toBe(true);
  const given = { context: contextWith(asksNothing()) };
  await withoutOutside(journal, { prompt, given, last: [{ text: "Read." }] }, response);
});

test("JRN-1 RPL-1 RPL-3 what a server of MCP asked a person, and a model, is asked once", async () => {
  const log = join(await newFolder(), "server.log");
  const script = join(import.meta.dirname, "../../packages/mcp/test/processes/scripted-server.mjs");
  const server = await connectMcp(
    { command: process.execPath, args: [...fromSources, script, log], env: ["NODE_COMPILE_CACHE"] },
    { elicit: async () => ({ action: "accept", content: { colour: "red" } }), sampling: {} },
  );
  const promptOf = (tools: readonly Tool[]): Prompt =>
    definePrompt({ key: "mcp", sections: [{ key: "s", text: "Ask.", tools }] }).bind() as Prompt;
  const tools = mcpTools(server);
  const journal = memoryJournal();
  const steps = [call("elicit"), call("sample"), { text: "Hello!" }, { text: "Asked." }];
  const response = await modelAdapter(scriptedModel(steps)).evaluate(promptOf(tools), { run: journal.run("r") });
  const results = response.toolResults.map(({ result }) =>
    result.success ? JSON.stringify(result.value) : result.message,
  );
  expect(results).toMatchObject([expect.stringContaining("red"), expect.stringContaining("Hello!")]);
  // A model's text is answered from the record where the tools run again; a person is asked by the server.
  expect((await replay(promptOf(tools), journal.replay("r", { tools: "run" }))).response?.text).toBe("Asked.");
  await server[Symbol.asyncDispose]();
  await withoutOutside(journal, { prompt: promptOf(tools), last: [{ text: "Asked." }] }, response);
});

test("JRN-1 RPL-1 RPL-3 what was read of a skill is replayed as it was, and named where it has changed", async () => {
  const text = (body: string): string => `---\nname: pdf\ndescription: Works with PDF.\n---\n${body}\n`;
  const disk = memoryFilesystem({ "pdf/SKILL.md": text("Fill the forms."), "pdf/forms.md": "one\ntwo\n" });
  const section = skillsSection(await readSkills(disk), { key: "skills", filesystem: disk });
  const prompt = definePrompt({
    key: "skilled",
    sections: [section, { key: "s", role: "user", text: "Work." }],
  }).bind();
  const journal = memoryJournal();
  const steps = [
    call("read_section", { key: "skills.pdf" }),
    call("read_skill_file", { skill: "pdf", path: "forms.md" }),
  ];
  const response = await modelAdapter(scriptedModel([...steps, { text: "Read." }])).evaluate(prompt, {
    run: journal.run("r"),
  });
  expect((await replay(prompt, journal.replay("r", { tools: "run" }))).response?.text).toBe("Read.");
  await disk.write("pdf/forms.md", "three\n");
  await withoutOutside(journal, { prompt, last: [{ text: "Read." }] }, response);
  await expect(replay(prompt, journal.replay("r", { tools: "run" }))).rejects.toMatchObject({
    divergence: { step: 4, path: expect.stringContaining("read_skill_file: result") },
  });
});

test("JRN-1 RPL-1 a chain's choice, its refusals and its prices are replayed without its adapters", async () => {
  const refusal: ScriptedStep = { failure: "throttle", kind: "server_error", message: "Later." };
  const named = (name: string, steps: readonly ScriptedStep[]): ProviderAdapter =>
    modelAdapter(
      { ...scriptedModel(steps), name, model: name },
      { throttle: { maxAttempts: 1 }, pricing: { input: 1, output: 2 } },
    );
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => 1 });
  const prompt = definePrompt({ key: "routed", sections: [{ key: "s", text: "Look.", tools: [look] }] }).bind();
  const journal = memoryJournal();
  const chain = fallback([named("one", [refusal]), named("two", [call("look"), { text: "Seen." }])], {
    order: (candidates) => candidates.toSorted((a, b) => (a.costUsd ?? 0) - (b.costUsd ?? 0)),
  });
  const response = await chain.evaluate(prompt, { run: journal.run("r") });
  expect(response.usage.costUsd).toBeGreaterThan(0);
  const replayed = await replay(prompt, journal.replay("r"));
  expect(replayed.response?.usage).toEqual(response.usage);
  const routes = replayed.events.flatMap((event) => ("route" in event ? [event.route] : []));
  expect(routes[0]).toMatchObject([{ provider: "one" }, { provider: "two", outcome: "answered" }]);
  const cut = await beforeLastRequest(journal);
  const other = fallback([named("one", [{ text: "Seen." }]), named("two", [])], { order: gone as never });
  // An order that throws is asked only where a request is made.
  await expect(other.evaluate(prompt, { run: cut.run("r", { takeOver: true }) })).rejects.toThrow("order");
  const last = fallback([named("one", [{ text: "Seen." }]), named("two", [])]);
  const again = (await beforeLastRequest(journal)).run("r", { takeOver: true });
  expect((await last.evaluate(prompt, { run: again })).text).toBe("Seen.");
});

test("JRN-1 RPL-1 RPL-4 bytes that were read of a file are those of then, in params and results", async () => {
  const folder = await newFolder();
  const write = async (name: string, width: number): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, new Uint8Array(await testImage({ width, height: 4 }).arrayBuffer()));
    return path;
  };
  const [given, shown] = [await write("given.png", 11), await write("shown.png", 22)];
  const show = defineTool({
    name: "show",
    description: "Shows a picture.",
    input: z.object({}),
    idempotent: true,
    execute: async () => toolOk("shown", { files: [await fileAt(shown)] }),
  });
  const template = definePrompt({
    key: "seen",
    params: z.object({ file: z.file() }),
    sections: [{ key: "s", role: "user", text: "Look: {{file}}", tools: [show] }],
  });
  const prompt = template.bind({ file: await fileAt(given) });
  const journal = memoryJournal();
  const resources = [provide(Blobs, folderBlobs(join(folder, "blobs")))];
  const adapter = modelAdapter(scriptedModel([call("show"), { text: "Seen." }], { capabilities: { files } }));
  const response = await adapter.evaluate(prompt, { run: journal.run("r"), resources });
  expect((await replay(prompt, journal.replay("r", { tools: "run" }), { resources })).response?.text).toBe("Seen.");
  await write("shown.png", 23);
  await rm(given);
  await withoutOutside(journal, { prompt, given: { resources }, last: [{ text: "Seen." }] }, response);
  await expect(replay(prompt, journal.replay("r", { tools: "run" }), { resources })).rejects.toMatchObject({
    divergence: { step: 2, path: expect.stringContaining("show: result.files[0]") },
  });
  const other = template.bind({ file: testImage({ width: 12, height: 4, name: "given.png" }) });
  await expect(replay(other, journal.replay("r"))).rejects.toMatchObject({ divergence: { step: 0 } });
});

test("JRN-1 RPL-1 an override that was found is not looked up again, and resources are not made", async () => {
  const template = definePrompt({ key: "kept", sections: [{ key: "s", text: "Say hello." }] });
  const hash = template.descriptor.sections["s"] ?? "";
  const override = { tag: "latest", sections: { s: { hash, text: "Say goodbye." } }, tools: {} };
  const store = { resolve: async () => override, upsert: async () => {}, seed: async () => override };
  const journal = memoryJournal();
  const model = scriptedModel([{ text: "Goodbye." }]);
  await modelAdapter(model).evaluate(template.bind(), { run: journal.run("r"), overrides: { store } });
  expect(model.lastPrompt).toBe("Say goodbye.");
  const overrides = { store: { ...store, resolve: gone } };
  const resources = [provide(Filesystem, gone as never)];
  expect((await replay(template, journal.replay("r"), { overrides, resources })).response?.text).toBe("Goodbye.");
  expect((await asksNothing().evaluate(template.bind(), { run: journal.run("r"), overrides })).text).toBe("Goodbye.");
});
