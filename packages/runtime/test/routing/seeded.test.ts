// Random chains of models and agents that answer, call tools and fail; after each evaluation the rules are checked.
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  Filesystem,
  provide,
  type ModelFailure,
  type ModelProvider,
  type ModelResponse,
  type PromptResponse,
} from "@proviso/core";
import { agentAdapter, createSession, memoryFilesystem, modelAdapter, openResources } from "@proviso/runtime";
import { fallback, type FallbackReason } from "@proviso/runtime/routing";
import { fakeEnvironment, recordEvents } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: { all: [] as readonly string[] },
  reducers: ({ on }) => on(noted, (state, { text }) => ({ all: [...state.all, text] })),
});

/** Numbers from 0 to below 1 that a seed decides (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed * 0x9e3779b9;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

type Play = "write" | "send" | "break" | "good" | "bad" | "down" | "no key" | "half";
const plays: readonly Play[] = [
  "write",
  "write",
  "send",
  "break",
  "good",
  "bad",
  "bad",
  "down",
  "down",
  "no key",
  "half",
];

async function simulated(seed: number) {
  const random = randomOf(seed);
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T;
  const environment = fakeEnvironment();
  let [calls, reported] = [0, 0];
  const ran: string[] = [];
  const tool = (name: string, more: { readonly idempotent?: boolean }) =>
    defineTool({
      name,
      description: "Writes a note.",
      input: z.object({ text: z.string() }),
      uses: [Filesystem],
      ...more,
      async execute({ text }, { session, resources }) {
        ran.push(text);
        session.dispatch(noted({ text }));
        await resources.get(Filesystem).write(`${text}.txt`, text);
        if (name === "break") throw new Error("it broke");
      },
    });
  const prompt = definePrompt({
    key: "p",
    output: z.object({ ok: z.boolean() }),
    sections: [
      {
        key: "s",
        text: "Go.",
        tools: [tool("write", { idempotent: true }), tool("send", {}), tool("break", {})],
        slices: [notes],
      },
    ],
  }).bind();
  const usage = { inputTokens: 100, outputTokens: 10 };
  const answerOf = (text: string, play?: Play): ModelResponse => {
    reported += 100;
    const text_ = `${play ?? ""}${++calls}`;
    const call = { id: `call_${calls}`, name: play ?? "", arguments: JSON.stringify({ text: text_ }) };
    const toolCalls = play === undefined ? [] : [call];
    return { message: { role: "assistant", text, toolCalls }, finishReason: "stop", usage };
  };
  const played = (play: Play): ModelResponse | ModelFailure => {
    if (play === "good") return answerOf('{"ok":true}');
    if (play === "bad") return answerOf("I do not know.");
    if (play === "no key") return { failure: "provider", reason: "api_key", message: "no key" };
    if (play === "down" || play === "half") {
      return { failure: "throttle", kind: "server_error", retry: false, message: "503" };
    }
    return answerOf("", play);
  };
  const adapters = Array.from({ length: 2 + Math.floor(random() * 3) }, (_, index) => {
    const name = "abcd"[index] as string;
    if (random() < 0.25) {
      const drive: Parameters<typeof agentAdapter>[0]["drive"] = async ({ executeToolCall }) => {
        while (random() < 0.5) {
          const made = answerOf("", pick(["write", "send", "break"] as const));
          reported -= 100;
          for (const call of made.message.toolCalls) await executeToolCall(call);
        }
        return played(pick(["good", "bad", "down", "no key"] as const));
      };
      return agentAdapter({ name, model: `${name}-1`, drive }, environment);
    }
    const provider: ModelProvider = {
      name,
      model: `${name}-1`,
      capabilities: { tools: true, nativeOutput: false },
      async generate({ onDelta }) {
        const play = pick(plays);
        if (play === "half") onDelta?.({ kind: "text", text: "half" });
        return played(play);
      },
    };
    return modelAdapter(provider, environment);
  });
  const on = pick<readonly FallbackReason[] | undefined>([undefined, ["output"], ["server_error", "output"]]);
  const repeatTools = random() < 0.3;
  const session = createSession({ slices: [notes] });
  const events = recordEvents(session);
  const heard: string[] = [];
  session.on(noted, ({ text }) => void heard.push(text));
  await using resources = await openResources([provide(Filesystem, memoryFilesystem())]);
  const stream = fallback(adapters, { on, repeatTools, breaker: false, ...environment }).stream(prompt, {
    session,
    resources,
    maxTurns: 12,
  });
  const shown = new Map<number, string>();
  const reading = (async () => {
    for await (const event of stream) {
      if (event.type === "text.delta") shown.set(event.turn, (shown.get(event.turn) ?? "") + event.text);
      if (event.type === "text.reset") shown.delete(event.turn);
    }
  })();
  await reading.catch(() => {});
  const outcome: unknown = await stream.response.catch((error: unknown) => error);
  const files = await resources.get(Filesystem).glob("*");
  const { all } = session.get(notes);
  return { events, outcome, files, all, heard, ran, reported, repeatTools, shown };
}

test("RTE-1 RTE-4 RTE-8 RTE-9 RTE-10 whatever fails, what counts is what the last attempt did (100 seeds)", async () => {
  let [restarts, answers] = [0, 0];
  for (let seed = 1; seed <= 100; seed++) {
    const { events, outcome, files, all, heard, ran, reported, repeatTools, shown } = await simulated(seed);
    const types = events.map(({ type }) => type);
    const count = (type: string): number => types.filter((each) => each === type).length;
    const last = types.lastIndexOf("evaluation.restarted");
    restarts += count("evaluation.restarted");
    const invoked = events.flatMap((event, at) =>
      event.type === "tool.invoked" && "result" in event ? [{ event, at }] : [],
    );
    const succeeded = invoked.filter(({ event }) => event.result.success);
    const counting = succeeded
      .filter(({ at }) => at > last)
      .map(({ event }) => (event.params as { text: string }).text);
    const why = `seed ${seed}`;
    expect([count("prompt.rendered"), count("prompt.executed") + count("prompt.failed")], why).toEqual([1, 1]);
    expect(all, why).toEqual(counting);
    expect(heard, why).toEqual(counting);
    expect([...files], why).toEqual(counting.map((text) => `${text}.txt`).toSorted());
    // Each call that was asked for has run once.
    expect(ran.length, why).toBe(invoked.length);
    if (!repeatTools) {
      const sent = succeeded.filter(({ event }) => event.name === "send").map(({ at }) => at);
      expect(
        sent.every((at) => at > last),
        why,
      ).toBe(true);
    }
    const { usage, toolResults } = outcome as PromptResponse<unknown>;
    expect(toolResults.length, why).toBe(invoked.filter(({ at }) => at > last).length);
    expect(usage.inputTokens, why).toBeGreaterThanOrEqual(reported);
    if (!usage.estimated) expect(usage.inputTokens, why).toBe(reported);
    if (count("prompt.executed") === 0) continue;
    answers += 1;
    expect([...shown.values()].at(-1), why).toBe('{"ok":true}');
  }
  expect([restarts > 20, answers > 20]).toEqual([true, true]);
});
