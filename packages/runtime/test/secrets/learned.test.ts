import { defineTool, definePrompt, type StreamEvent } from "@proviso/core";
import { agentAdapter, modelAdapter, type AgentDriver, type AgentRun } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { all, textsOf } from "../streaming/support.ts";
import { printed, recordingLogger } from "./support.ts";

const secret = "very-secret-token-0001";

/** A call of it begins an evaluation that has the secret, and returns it. */
const ask = defineTool({
  name: "ask",
  description: "Asks.",
  input: z.object({}),
  async execute(_, { evaluate }) {
    const adapter = modelAdapter(scriptedModel([{ text: "ok" }]), { ...fakeEnvironment(), secrets: [secret] });
    await evaluate("What is the token?", { adapter });
    return `the token is ${secret}`;
  },
});
const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools: [ask] }] });

interface Told {
  readonly before: string;
  readonly pieces: number;
  readonly kind?: "text" | "reasoning";
}

/** Tells something, calls the tool, and tells what came of it in pieces of this length. */
function agent({ before, pieces, kind = "text" }: Told, given: Parameters<typeof agentAdapter>[1] = {}) {
  const tell = (run: AgentRun, text: string): void => {
    for (let at = 0; at < text.length; at += pieces) run.onDelta({ kind, text: text.slice(at, at + pieces) });
  };
  const driver: AgentDriver = {
    name: "agent",
    model: "agent",
    async drive(run) {
      tell(run, before);
      const { text } = await run.executeToolCall({ id: "c1", name: "ask", arguments: "{}" });
      tell(run, text);
      const whole = `${before}${text}`;
      const message =
        kind === "text"
          ? { role: "assistant" as const, text: whole, toolCalls: [] }
          : { role: "assistant" as const, text: "Done.", reasoning: whole, toolCalls: [] };
      return { message, finishReason: "stop", usage: {} };
    },
  };
  return agentAdapter(driver, { ...fakeEnvironment(), ...given });
}

/** What is shown since it was taken back last. */
function shownIn(events: readonly StreamEvent[], kind: "text" | "reasoning" = "text"): string {
  const last = events.findLastIndex(({ type }) => type === "text.reset");
  return events
    .slice(last + 1)
    .flatMap((event) => (event.type === `${kind}.delta` && "text" in event ? [event.text] : []))
    .join("");
}

const sizes = [1, 5, 1000];

test.each(sizes)(
  "SEC-1 STR-1 a turn that streams hides a secret of an evaluation inside it, in pieces of %d",
  async (pieces) => {
    const events = await all(agent({ before: "Look: ", pieces }).stream(prompt.bind()));
    expect(textsOf(events).join("")).toBe("Look: the token is [secret]");
    expect(events.at(-1)).toMatchObject({ type: "prompt.executed", text: "Look: the token is [secret]" });
    expect(printed(events)).not.toContain(secret);
  },
);

test.each(sizes)("SEC-1 RSN-1 so does its stream of thoughts, in pieces of %d", async (pieces) => {
  const events = await all(agent({ before: "Hm: ", pieces, kind: "reasoning" }).stream(prompt.bind()));
  expect(shownIn(events, "reasoning")).toBe("Hm: the token is [secret]");
  expect(shownIn(events)).toBe("Done.");
});

test.each([
  // What may become the secret was shown, and does not become it.
  ["Look, very-secret: ", 0, "Look, very-secret: the token is [secret]"],
  ["Look: very-", 1, "Look: very-the token is [secret]"],
  // The secret itself was shown, before anybody knew that it is one.
  [`${secret}: `, 1, "[secret]: the token is [secret]"],
] as const)("SEC-1 STR-1 after %j what was shown is taken back where it has to be", async (before, resets, whole) => {
  for (const pieces of sizes) {
    const events = await all(agent({ before, pieces }).stream(prompt.bind()));
    expect(events.filter(({ type }) => type === "text.reset")).toHaveLength(resets);
    expect(shownIn(events)).toBe(whole);
    expect(events.at(-1)).toMatchObject({ type: "prompt.executed", text: whole });
  }
});

test("SEC-1 STR-1 text whose end turns out to begin the secret is taken back once", async () => {
  const half = secret.slice(0, 9);
  const driver: AgentDriver = {
    name: "agent",
    model: "agent",
    async drive(run) {
      run.onDelta({ kind: "text", text: `It is ${half}` });
      await run.executeToolCall({ id: "c1", name: "ask", arguments: "{}" });
      for (const text of secret.slice(9)) run.onDelta({ kind: "text", text });
      return {
        message: { role: "assistant", text: `It is ${secret}`, toolCalls: [] },
        finishReason: "stop",
        usage: {},
      };
    },
  };
  const events = await all(agentAdapter(driver, fakeEnvironment()).stream(prompt.bind()));
  expect(events.filter(({ type }) => type === "text.reset")).toHaveLength(1);
  expect(shownIn(events)).toBe("It is [secret]");
});

test("SEC-1 OBS-2 what an observer throws after the evaluation shows no secret of one inside it", async () => {
  const logger = recordingLogger();
  const thrown: unknown[] = [];
  const observers = [
    {
      async around(step: { readonly kind: string }, run: () => Promise<never>) {
        const ended = await run();
        if (step.kind === "evaluation") {
          thrown.push(secret);
          throw new Error(`after it: ${secret}`);
        }
        return ended;
      },
    },
  ];
  const adapter = agent({ before: "", pieces: 5 }, { logger, observers });
  await adapter.evaluate(prompt.bind());
  // The promise of the observer is not waited for.
  await new Promise((resolve) => setImmediate(resolve));
  expect(thrown).toHaveLength(1);
  expect(printed(logger.records)).toContain("after it: [secret]");
  expect(printed(logger.records)).not.toContain(secret);
});
