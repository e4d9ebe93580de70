/**
 * A program that needs nothing of Node. It evaluates with a tool whose failed call is undone, as a stream, with a deadline,
 * with a fake clock, recorded and replayed, and over a wire that breaks; as a worker, it also serves requests that share a
 * pace, or a session and a budget. `check-install.ts` runs it where the packages are installed, and bundled with every such entry in
 * workers and browsers.
 */
import {
  deadlineIn,
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  isEvaluationFailure,
  trackBudget,
} from "@proviso/core";
import { openai } from "@proviso/adapter-openai";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { paced, sharedPace } from "@proviso/runtime/routing";
import { fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const soon = () => ({ deadline: deadlineIn(10_000) });
const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Takes a note.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    if (text === "bad") throw new Error("It cannot be noted.");
    return "noted";
  },
});
const noting = definePrompt({ key: "noting", sections: [{ key: "task", text: "Take notes.", tools: [note] }] }).bind();
const called = (...texts) => ({ toolCalls: texts.map((text) => ({ name: "note", arguments: { text } })) });

const checks = {
  async transaction() {
    const session = createSession({ slices: [notes] });
    const model = scriptedModel([called("bad", "good"), { text: "done" }]);
    await modelAdapter(model).evaluate(noting, { session, ...soon() });
    return session.get(notes).join();
  },
  async stream() {
    let text = "";
    for await (const event of modelAdapter(scriptedModel([{ text: "Hello, Ada." }])).stream("Greet Ada.", soon())) {
      if (event.type === "text.delta") text += event.text;
    }
    return text;
  },
  async deadline() {
    const silent = { name: "silent", model: "silent-1", capabilities: { tools: true, nativeOutput: true } };
    const adapter = modelAdapter({ ...silent, generate: () => new Promise(() => {}) });
    try {
      return (await adapter.evaluate("Say nothing.", { deadline: deadlineIn(50) })).output;
    } catch (error) {
      return isEvaluationFailure(error) ? error.code : String(error);
    }
  },
  async clock() {
    const clock = fakeClock();
    const adapter = modelAdapter(scriptedModel([{ text: "late", afterMs: 60_000 }], { clock }), { clock });
    const asked = adapter.evaluate("Wait.", { deadline: deadlineIn(90_000, clock) });
    await clock.advance(60_000);
    return (await asked).output;
  },
  async journal() {
    const journal = memoryJournal();
    const adapter = modelAdapter(scriptedModel([called("good"), { text: "done" }]));
    const { output } = await adapter.evaluate(noting, { run: journal.run("one"), session: createSession(), ...soon() });
    const again = await replay(noting, journal.replay("one"));
    return `${output} ${again.response?.output}`;
  },
  async wire(baseURL) {
    const adapter = openai({ model: "gpt-5.4", apiKey: "key", baseURL });
    let events = 0;
    for await (const { type } of adapter.stream("Greet Ada.", soon())) events += type === "text.delta" ? 1 : 0;
    const { output } = await adapter.evaluate("Greet Ada.", soon());
    return `${output} ${events > 0}`;
  },
  async broken(baseURL) {
    const adapter = openai({ model: "gpt-5.4", apiKey: "key", baseURL, throttle: { baseDelayMs: 1 } });
    const session = createSession();
    let refused = 0;
    session.on("provider.throttled", () => void (refused += 1));
    const { output } = await adapter.evaluate("Break once.", { session, ...soon() });
    return `${output} ${refused}`;
  },
};

/** Runs each check, and returns what it came to by its name. */
export async function run(baseURL) {
  const results = {};
  for (const [name, check] of Object.entries(checks)) {
    results[name] = await check(baseURL).catch((error) => String(error?.stack ?? error));
  }
  return results;
}

// All requests that a worker serves share these, and may wait for each other.
const shared = paced(
  modelAdapter({
    name: "constant",
    model: "constant-1",
    capabilities: { tools: true, nativeOutput: true },
    generate: async () => ({ message: { role: "assistant", text: "yes", toolCalls: [] }, finishReason: "stop" }),
  }),
  sharedPace({ requestsPerMinute: 1_200 }),
);

const waiting = defineTool({
  name: "wait",
  description: "Takes a moment.",
  input: z.object({}),
  execute: () => new Promise((resolve) => setTimeout(resolve, 20)),
});
const patient = definePrompt({ key: "patient", sections: [{ key: "task", text: "Wait.", tools: [waiting] }] }).bind();
const session = createSession({ id: "shared" });
// Less than all of them would reserve at once.
const budget = trackBudget({ maxTotalTokens: 600 });

async function inSharedSession() {
  const usage = { inputTokens: 10, outputTokens: 5 };
  const steps = [
    { toolCalls: [{ name: "wait", arguments: {} }], usage },
    { text: "yes", usage },
  ];
  const adapter = modelAdapter(scriptedModel(steps));
  return adapter.evaluate(patient, { session, budget, deadline: deadlineIn(5_000) });
}

export const worker = {
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/run") return Response.json(await run(searchParams.get("wire")));
    const answering =
      pathname === "/paced" ? shared.evaluate("Say yes.", { deadline: deadlineIn(5_000) }) : inSharedSession();
    return new Response(await answering.then(({ output }) => output, String));
  },
};
