import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  Filesystem,
  provide,
  toolOk,
  type Observer,
} from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

/** Changes whatever can be changed in a value, at every depth. What is an error belongs to the one who gets it. */
function meddle(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== "object" || value === null || value instanceof Error || seen.has(value)) return;
  seen.add(value);
  for (const item of Object.values(value)) meddle(item, seen);
  for (const key of Object.keys(value)) Reflect.set(value, key, "meddled");
  Reflect.set(value, "meddled", true);
  if (Array.isArray(value) && !Object.isFrozen(value)) value.push({ role: "user", text: "meddled" });
}

const meddling: Observer = {
  event: (event) => meddle(event),
  app(event, of) {
    meddle(event);
    meddle(of);
  },
  changed(changes) {
    meddle(changes);
    meddle(changes.slices());
    meddle(changes.touched());
  },
  around(step, work) {
    meddle(step);
    if (step.kind === "request") meddle(step.messages());
    return work();
  },
};

const noted = defineEvent("noted", z.object({ lines: z.array(z.string()) }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly unknown[],
  reducers: ({ on }) => on(noted, (draft, { lines }) => void draft.push({ lines })),
});
const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string() }),
  async execute({ text }, { session, resources, progress }) {
    session.dispatch(noted({ lines: [text] }));
    progress({ done: 1, message: "half" });
    await resources.get(Filesystem).write("note.txt", text);
    return toolOk({ text, lines: [{ text }] }, { files: [testImage({ width: 2, height: 2, name: `${text}.png` })] });
  },
});
const prompt = definePrompt({
  key: "notebook",
  params: z.object({ photo: z.file(), text: z.file() }),
  sections: [
    { key: "all", text: "Note.", tools: [note], slices: [notes] },
    { key: "files", role: "user", text: "{{photo}} and {{text}}" },
  ],
}).bind({
  photo: testImage({ width: 4, height: 3, name: "photo.png" }),
  text: new File(["Read this."], "a.txt", { type: "text/plain" }),
});
const calls = ['{"text":"a"}', '{"text":"b"}', "{"].map((given) => ({ name: "note", arguments: given }));
const capabilities = { files: { types: ["image/*"], from: ["stored"] } } as const;
const overloaded: ScriptedStep = { failure: "throttle", kind: "server_error", message: "overloaded" };

const times = new Set(["at", "durationMs"]);

/** All that an evaluation shows and sends, as it was at the time. */
async function evaluated(steps: readonly ScriptedStep[], observers: readonly Observer[], secrets: readonly string[]) {
  const environment = fakeEnvironment(1);
  const session = createSession({ id: "session" });
  const events = recordEvents(session);
  const model = scriptedModel(steps, { capabilities });
  const sent: string[] = [];
  const recording: typeof model = {
    ...model,
    generate(request) {
      sent.push(JSON.stringify(request));
      return model.generate(request);
    },
  };
  const adapter = modelAdapter(recording, { ...environment, observers, secrets });
  const resources = [provide(Filesystem, memoryFilesystem({}))];
  let isOver = false;
  const evaluating = adapter
    .evaluate(prompt, { session, resources })
    .catch((error: unknown) => error)
    .finally(() => (isOver = true));
  // Reading the files waits for the platform, and the repeated request for the clock.
  while (!isOver) {
    await environment.clock.advance(60_000);
    await new Promise(setImmediate);
  }
  const ended = (await evaluating) as object;
  const { messages, toolResults } = ended as { readonly messages: unknown; readonly toolResults: unknown };
  const shown = { sent, events, ended: { ...ended }, messages, toolResults, state: session.get(notes) };
  return JSON.parse(JSON.stringify(shown, (key, value: unknown) => (times.has(key) ? 0 : value))) as typeof shown;
}

test.each([
  ["a secret", ["photo"]],
  ["no secret", []],
])("EVT-5 OBS-2 an observer that changes whatever it is given changes nothing, with %s", async (_, secrets) => {
  for (const steps of [
    [{ toolCalls: calls }, overloaded, { text: "Done." }],
    [{ toolCalls: calls }, { failure: "provider", reason: "unknown", message: "no" }],
  ] satisfies readonly (readonly ScriptedStep[])[]) {
    const alone = await evaluated(steps, [], secrets);
    expect(alone.sent.length).toBe(steps.length);
    const watched = await evaluated(steps, [meddling, meddling], secrets);
    expect(watched).toEqual(alone);
  }
});

test("EVT-5 what one observer does with an application's event is not seen by the next one", async () => {
  const seen: object[] = [];
  const last: Observer = { app: (_event, of) => void seen.push({ ...of }) };
  const environment = fakeEnvironment(1);
  const session = createSession({ id: "session" });
  const model = scriptedModel([{ toolCalls: calls.slice(0, 1) }, { text: "Done." }], { capabilities });
  const adapter = modelAdapter(model, { ...environment, observers: [meddling, last] });
  await adapter.evaluate(prompt, { session, resources: [provide(Filesystem, memoryFilesystem({}))] });
  expect(seen).toEqual([{ sessionId: "session", evaluationId: expect.any(String) }]);
});
