import {
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  allow,
  systemClock,
  type Clock,
  type EvaluateOptions,
  type Prompt,
  type ProviderAdapter,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { createSession, type Logger } from "@proviso/runtime";
import { startSimulator, type SimulatorStep } from "@proviso/simulator";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";

/** What an adapter is made with to be watched. */
export interface Watched {
  readonly secrets: readonly string[];
  readonly logger: Logger;
}

export interface CanaryOptions {
  /** An adapter for the server there. */
  make(
    connection: { readonly baseURL: string; readonly clock: Clock; readonly apiKey: string } & Watched,
  ): ProviderAdapter;
}

/** It has what JSON, addresses and base64 write in another way. */
const registered = 'c4n4ry/"ü" of+the=mine\\%';
/** It is sent as a key and registered by nobody. */
const apiKey = "sk-canary-0123456789abcdef";

const formsOf = (secret: string): readonly string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  encodeURIComponent(secret),
  Buffer.from(secret).toString("base64"),
];
/** Both secrets, in each form. */
const song = [...formsOf(registered), ...formsOf(apiKey)].map((form) => `<${form}>`).join(" ");

const sung = defineEvent("sung", z.object({ text: z.string() }));
const songs = defineSlice({
  name: "songs",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(sung, (draft, { text }) => void draft.push(text)),
});
const sing = defineTool({
  name: "sing",
  description: "Sings.",
  input: z.object({ text: z.string(), how: z.enum(["return", "throw", "throw odd", "deny", "veto"]) }),
  execute({ text, how }, { session }) {
    session.dispatch(sung({ text }));
    if (how === "throw") throw Object.assign(new Error(text, { cause: new Error(text) }), { name: text, more: [text] });
    if (how === "throw odd") throw { [text]: new Map([[text, new Set([text])]]), toString: () => text };
    return { [text]: [text], text };
  },
});
const watching = definePolicy({
  name: "watching",
  tools: [sing],
  check: ({ input }) => ((input as { how: string }).how === "deny" ? deny(song) : allow()),
});
const prompt = definePrompt({
  ns: "canary",
  key: "prompt",
  params: z.object({ song: z.string() }),
  output: z.object({ text: z.string() }),
  policies: [watching],
  feedback: [{ name: "echo", every: { calls: 2 }, provide: () => song }],
  sections: [
    { key: "guide", text: "Sing {{song}}", tools: [sing], slices: [songs] },
    { key: "request", text: "Begin.", role: "user" },
  ],
}).bind({ song });

const singing = (how: string): SimulatorStep => ({
  text: `I sing ${song}`,
  toolCalls: [{ name: "sing", arguments: { text: song, how } }],
});
const refused = (status: number): SimulatorStep => ({
  status,
  headers: { "x-request-id": apiKey },
  body: { error: { message: song, type: song, code: apiKey, param: [song] } },
});
const scenes: Readonly<Record<string, readonly SimulatorStep[]>> = {
  "a good answer": [
    singing("return"),
    singing("throw"),
    singing("deny"),
    singing("throw odd"),
    { output: { text: song } },
  ],
  "a call that is vetoed": [singing("veto"), { output: { text: song } }],
  "a tool that nobody has": [{ toolCalls: [{ name: "hum", arguments: { [song]: song } }] }, { output: { text: song } }],
  "arguments that do not fit": [{ toolCalls: [{ name: "sing", arguments: `{"${song}` }] }, { output: { text: song } }],
  "an answer that does not fit": [{ output: { [song]: song, text: [song] } }, { text: song }],
  "an answer that is no JSON": [{ text: `{"text": "${song}` }],
  "a refusal": [{ refusal: song }],
  "a refused key": [refused(401)],
  "a bad request": [refused(400)],
  "a server that fails": [refused(500), refused(500)],
  "a cut answer": [{ text: song, finishReason: "length" }],
};

/** Everything that an adapter shows of evaluations in which two secrets come everywhere. */
export function describeCanary(name: string, { make }: CanaryOptions): void {
  describe(`SEC-1 ${name}: no secret is in anything that is shown`, () => {
    const cases = Object.keys(scenes).flatMap((scene) => [false, true].map((isStreamed) => ({ scene, isStreamed })));
    test.each(cases)("SEC-1 $scene, streamed: $isStreamed", async ({ scene, isStreamed }) => {
      await using simulator = await startSimulator({ steps: scenes[scene] ?? [] });
      const { baseURL } = simulator;
      const { text, count } = await shownBy(
        (watched) => make({ baseURL, apiKey, clock: quick, ...watched }),
        isStreamed,
      );
      expectNoSecret(text);
      expect(count, "something is shown, and hidden").toBeGreaterThan(0);
    });

    test("SEC-1 where none is registered they are seen", async () => {
      await using simulator = await startSimulator({ steps: scenes["a good answer"] ?? [] });
      const { baseURL } = simulator;
      const { text } = await shownBy(
        ({ logger }) => make({ baseURL, apiKey: "sk-nobody-repeats-this", clock: quick, secrets: [], logger }),
        true,
      );
      for (const form of song.slice(1, -1).split("> <")) expect(text).toContain(JSON.stringify(form).slice(1, -1));
    });
  });
}

/** Waits of a throttle take no time. */
const quick: Clock = { ...systemClock, sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal) };

const saying = definePrompt({ key: "plain", params: z.object({ song: z.string() }), text: "Say {{song}}." });

/**
 * The same for an adapter that needs no server: one evaluation; how often a secret was hidden. Without a journal: an agent
 * cannot be recorded.
 */
export async function canaryIn(make: (watched: Watched) => ProviderAdapter, isStreamed: boolean): Promise<number> {
  const { text, count } = await shownBy(make, isStreamed, saying.bind({ song }), null);
  expectNoSecret(text);
  return count;
}
export const canarySong = song;

async function shownBy(
  make: (watched: Watched) => ProviderAdapter,
  isStreamed: boolean,
  asked: Prompt<unknown> = prompt,
  journal: Journal | null = memoryJournal(),
): Promise<{ readonly text: string; readonly count: number }> {
  const shown: unknown[] = [];
  const log = (...parts: unknown[]): void => void shown.push(parts);
  const session = createSession({ slices: [songs] });
  session.on("*", (event) => void shown.push(event));
  session.on("tool.invoked", ({ params }) => {
    if ((params as { how?: string }).how === "veto") throw new Error(song);
  });
  const adapter = make({ secrets: [registered], logger: { debug: log, info: log, warn: log, error: log } });
  const options: EvaluateOptions = { session, maxRepairs: 1, maxTurns: 12, run: journal?.run("canary") };
  try {
    const stream = isStreamed ? adapter.stream(asked, options) : undefined;
    if (stream !== undefined) for await (const event of stream) shown.push(event);
    const { toolResults } = await (stream?.response ?? adapter.evaluate(asked, options));
    shown.push(toolResults);
  } catch (error) {
    shown.push(error, (error as Error).stack, String(error), JSON.parse(JSON.stringify(error)));
  }
  shown.push(session.get(songs), JSON.parse(JSON.stringify(session)));
  if (journal !== null) {
    const entries = await all(journal.entries("canary"));
    expect(entries.length, "the run is recorded").toBeGreaterThan(0);
    shown.push(entries);
  }
  const text = shown.map((each) => printed(each) + (JSON.stringify(each) ?? "")).join("\n");
  return { text, count: text.split("[secret]").length - 1 };
}

/** With what is hidden, what getters show, and what lies deep. */
function printed(value: unknown): string {
  return inspect(value, {
    depth: null,
    showHidden: true,
    getters: true,
    maxStringLength: null,
    maxArrayLength: null,
    breakLength: Number.POSITIVE_INFINITY,
  });
}

function expectNoSecret(text: string): void {
  for (const secret of [registered, apiKey]) {
    for (const form of formsOf(secret)) {
      const at = [form, JSON.stringify(form).slice(1, -1)]
        .map((each) => text.indexOf(each))
        .find((found) => found >= 0);
      expect(at === undefined ? undefined : text.slice(Math.max(0, at - 200), at + 60)).toBeUndefined();
    }
  }
}

async function all<T>(entries: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const entry of entries) list.push(entry);
  return list;
}
