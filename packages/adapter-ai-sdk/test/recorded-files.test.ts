// Files in recorded runs: what is sent is the same whether the run goes through at once, goes on later, is replayed or
// forked, over each adapter and from each store of bytes.
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI } from "@ai-sdk/openai";
import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { openai } from "@proviso/adapter-openai";
import {
  allow,
  Blobs,
  definePolicy,
  definePrompt,
  defineTool,
  linkedFile,
  parseMessages,
  provide,
  RunError,
  suspend,
  toolOk,
  type EvaluateOptions,
  type FileLike,
  type JournalRun,
  type Message,
  type ProviderAdapter,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { folderBlobs } from "@proviso/node";
import {
  agentAdapter,
  memoryBlobs,
  memoryConversations,
  withConversation,
  type AgentDriver,
  type AgentRun,
} from "@proviso/runtime";
import { fallback, hedged } from "@proviso/runtime/routing";
import { testImage } from "@proviso/runtime/testing";
import { startSimulator, type SimulatorRule } from "@proviso/simulator";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { z } from "zod";

const apiKey = "key-12345678";
const throttle = { maxAttempts: 1 };

/** What the model does with the question, and what it has been sent. */
interface Plan {
  /** Requests that are refused once the first tool has answered. */
  fails: number;
  /** Whether it pays before it answers. */
  pays: boolean;
  readonly sent: unknown[];
}

const wires: Readonly<Record<string, (baseURL: string) => ProviderAdapter>> = {
  responses: (baseURL) => openai({ model: "gpt-5.4", api: "responses", apiKey, baseURL, throttle }),
  chat: (baseURL) => openai({ model: "gpt-5.4", api: "chat", apiKey, baseURL, throttle }),
  anthropic: (baseURL) => aiSdk({ model: createAnthropic({ baseURL, apiKey })("claude-sonnet-4-5"), throttle }),
  gemini: (baseURL) => aiSdk({ model: createGoogle({ baseURL, apiKey })("gemini-2.5-flash"), throttle }),
  "the AI SDK's chat": (baseURL) => aiSdk({ model: createOpenAI({ baseURL, apiKey }).chat("gpt-5.4"), throttle }),
  litellm: (baseURL) => litellm({ model: "some", baseURL, apiKey, throttle }),
};
const chains: typeof wires = {
  fallback: (baseURL) => fallback(two(baseURL)),
  hedged: (baseURL) => hedged(two(baseURL).toReversed(), { afterMs: 60_000 }),
};
const two = (baseURL: string): ProviderAdapter[] =>
  ["responses", "chat"].map((name) => wires[name]?.(baseURL) as ProviderAdapter);

/** Asks for the tools in turn, and answers then. */
const answering =
  (plan: Plan): SimulatorRule =>
  ({ messages }) => {
    const question = messages.findLastIndex(({ role, text }) => role === "user" && /^(?:Look|Draw)\./.test(text));
    const answered = messages.slice(question).filter(({ role }) => role === "tool").length;
    const call = (name: string) => ({ toolCalls: [{ id: `call_${messages.length}`, name, arguments: {} }] });
    if (messages[question]?.text.startsWith("Draw.") === true)
      return answered === 0 ? call("draw") : { text: "It is drawn." };
    if (answered === 0) return call("look");
    if (plan.fails > 0) {
      plan.fails -= 1;
      return { status: 500, body: {} };
    }
    plan.sent.push(messages.map(({ role, text, files }) => ({ role, text: text.replace(/\(\S+\):/, "(id):"), files })));
    return plan.pays && answered === 1 ? call("pay") : { text: "kept" };
  };

/** The same as an agent, which takes pictures in what tools answer. */
const agentOf = (plan: Plan): AgentDriver => ({
  name: "agent",
  model: "any",
  capabilities: { files: { types: ["image/*"], from: ["stored"], inToolResults: ["image/*"] } },
  async drive(run) {
    const isInside = run.rendered.user.startsWith("Draw.");
    const shown = await called(run, isInside ? "draw" : "look");
    if (!isInside && plan.fails-- > 0) return { failure: "throttle", kind: "network", message: "The line is cut." };
    if (!isInside && plan.pays) await called(run, "pay");
    if (!isInside) plan.sent.push([run.messages.map(({ role, text, files }) => ({ role, text, files })), shown]);
    const text = isInside ? "It is drawn." : "kept";
    const usage = { inputTokens: 10, outputTokens: 5 };
    return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop", usage };
  },
});
const called = async (run: AgentRun, name: string) => {
  const { text, files } = await run.executeToolCall({
    id: `call_${run.messages.length}_${name}`,
    name,
    arguments: "{}",
  });
  return { text, files };
};
const adapters: Readonly<Record<string, (typeof wires)[string] | undefined>> = {
  ...wires,
  ...chains,
  "an agent": undefined,
};

const image = (): File => testImage({ width: 5 });
const given: Readonly<Record<string, () => FileLike | undefined>> = {
  "a picture": image,
  "a table": () => new File(["a,b\n1,2"], "t.csv", { type: "text/csv" }),
  "a drawing": () => new File(["<svg xmlns='http://www.w3.org/2000/svg'/>"], "t.svg", { type: "image/svg+xml" }),
  "an archive": () => new File([new Uint8Array([1, 2, 3])], "t.zip", { type: "application/zip" }),
  "a link": () => linkedFile("https://example.com/a.png", { mediaType: "image/png" }),
  "a picture of an evaluation inside": () => undefined,
  "a picture of an earlier turn": () => undefined,
  "a picture in a conversation that is saved": image,
};
const inside = "a picture of an evaluation inside";
const earlier = "a picture of an earlier turn";
const saved = "a picture in a conversation that is saved";

const draw = defineTool({
  name: "draw",
  description: "Draws.",
  input: z.object({}),
  readOnly: true,
  execute: () => toolOk("drawn", { files: [image()] }),
});
const drawing = definePrompt({
  key: "drawing",
  sections: [{ key: "task", role: "user", text: "Draw.", tools: [draw] }],
});
const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
const askFirst = definePolicy({ name: "manager", tools: [pay], check: () => suspend("Pay?") });

function promptOf(content: string, makeFile: () => FileLike | undefined) {
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    readOnly: true,
    async execute(_input, { evaluate }) {
      if (content === inside) return (await evaluate(drawing.bind({}))).output;
      const file = makeFile();
      return toolOk("seen", file === undefined ? {} : { files: [file] });
    },
  });
  return definePrompt({ key: "see", sections: [{ key: "task", role: "user", text: "Look.", tools: [look, pay] }] });
}

interface Store {
  readonly journal: Journal;
  readonly options: Pick<EvaluateOptions, "resources">;
}
const stores: Readonly<Record<string, (folder: string) => Store>> = {
  "a folder of blobs": (folder) => ({
    journal: sqliteJournal(join(folder, "runs.db")),
    options: { resources: [provide(Blobs, folderBlobs(join(folder, "blobs")))] },
  }),
  "the journal's file": (folder) => ({ journal: sqliteJournal(join(folder, "runs.db")), options: {} }),
  memory: () => ({ journal: memoryJournal(), options: { resources: [provide(Blobs, memoryBlobs())] } }),
};

/** The messages as another process reads them: without the bytes of their files. */
const readAgain = (messages: readonly Message[]): readonly Message[] =>
  parseMessages(JSON.parse(JSON.stringify(messages)));

async function desk(adapterName: string, content: string, storeName: string) {
  const folder = await mkdtemp(join(tmpdir(), "proviso-recorded-files-"));
  const plan: Plan = { fails: 0, pays: false, sent: [] };
  const simulator = await startSimulator({ rules: [answering(plan)] });
  const { journal, options } = (stores[storeName] as (typeof stores)[string])(folder);
  onTestFinished(async () => {
    await simulator.close();
    await (journal as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.();
    await rm(folder, { recursive: true, force: true });
  });
  const connect = adapters[adapterName];
  const adapter = connect === undefined ? agentAdapter(agentOf(plan), { throttle }) : connect(simulator.baseURL);
  const prompt = promptOf(content, given[content] as () => FileLike | undefined).bind({});
  const conversations = memoryConversations();
  const before = await historyOf();
  plan.sent.length = 0;

  /** A turn before, with a picture. */
  async function historyOf(): Promise<readonly Message[] | undefined> {
    if (content !== earlier && content !== saved) return undefined;
    const pictured = promptOf("a picture", image).bind({});
    const { messages } = await adapter.evaluate(pictured, { ...options, run: journal.run("earlier") });
    return readAgain(messages);
  }
  async function evaluated(run: JournalRun, more: EvaluateOptions = {}): Promise<string> {
    const messages = before === undefined ? {} : { messages: before };
    const { output } = await adapter.evaluate(prompt, { ...options, ...messages, run, ...more });
    return output;
  }
  /** As a turn of a conversation, where it is about that. */
  async function turn(id: string, more: EvaluateOptions = {}): Promise<string> {
    if (content !== saved) return evaluated(journal.run(id), more);
    return withConversation(
      conversations,
      id,
      async (conversation) => {
        if (conversation.revision === 0) conversation.keep(before ?? []);
        const { output } = await conversation.evaluate(adapter, prompt, { ...options, run: journal.run(id), ...more });
        return output;
      },
      { slices: [] },
    );
  }
  return { plan, journal, adapter, prompt, options, conversations, evaluated, turn };
}

/** The requests of what was done. */
async function sentBy(plan: Plan, act: () => Promise<unknown>): Promise<readonly unknown[]> {
  plan.sent.length = 0;
  expect(await act()).toBe("kept");
  return [...plan.sent];
}

const all = Object.keys(adapters).flatMap((adapter, a) =>
  Object.keys(given).flatMap((content, c, { length }) =>
    Object.keys(stores).map((store, s) => ({
      adapter,
      content,
      store,
      inSlice: c === (a + 7) % length && s === a % 3,
    })),
  ),
);
const cases = inject("exhaustive") ? all : all.filter(({ inSlice }) => inSlice);

test.each(cases)(
  "FILE-17 RSM-1 RSM-2 RPL-1 FRK-1 $adapter, $content, bytes in $store: what is sent is the same however the run goes on",
  async ({ adapter: name, content, store }) => {
    const { plan, journal, adapter, prompt, options, evaluated, turn } = await desk(name, content, store);
    const whole = await sentBy(plan, () => turn("fresh"));
    expect(whole).toHaveLength(1);
    expect(await sentBy(plan, () => turn("fresh")), "an ended run is asked again").toEqual([]);

    plan.fails = name in chains ? 2 : 1;
    await expect(turn("failed")).rejects.toMatchObject({ code: "throttled" });
    plan.fails = 0;
    expect(await sentBy(plan, () => turn("failed")), "after a failure").toEqual(whole);
    expect(await sentBy(plan, () => turn("failed")), "answered again after a failure").toEqual([]);

    plan.pays = true;
    const paid = await sentBy(plan, () => turn("paid"));
    const policies = [askFirst];
    const error: unknown = await turn("approved", { policies }).catch((reason: unknown) => reason);
    if (!(error instanceof RunError) || error.pending === undefined) throw error;
    await journal.resolve(error.pending.token, allow());
    expect((await sentBy(plan, () => turn("approved", { policies }))).at(-1), "after an approval").toEqual(paid.at(-1));
    plan.pays = false;

    // No store has the bytes any more.
    const nowhere = { resources: [provide(Blobs, memoryBlobs())] };
    for (const id of ["fresh", "failed", "paid", "approved"]) {
      const more = id === "approved" ? { policies } : {};
      for (const tools of ["recorded", "run"] as const) {
        const again = (given: EvaluateOptions) => () =>
          adapter
            .evaluate(prompt, { ...given, ...more, run: journal.replay(id, { tools }) })
            .then(({ output }) => output);
        expect(await sentBy(plan, again(options)), `${id}, its tools ${tools}`).toEqual([]);
        if (tools === "recorded") expect(await sentBy(plan, again(nowhere)), `${id}, without bytes`).toEqual([]);
        const { response } = await replay(prompt, journal.replay(id, { tools }), { ...options, ...more });
        expect(response?.output, `${id} in a test, its tools ${tools}`).toBe("kept");
      }
    }

    const steps = (await journal.describe("fresh"))?.steps ?? 0;
    for (let at = 0; at <= steps; at++) {
      const sent = await sentBy(plan, () => evaluated(journal.fork("fresh", { at, id: `fork ${at}` })));
      expect(sent, `forked at step ${at}`).toEqual(at < steps ? whole : []);
    }
  },
);
