import { commandLineModel } from "@proviso/adapter-process";
import type { Message, ModelFailure, ModelRequest, ModelResponse } from "@proviso/core";
import fc from "fast-check";
import { expect, inject, test, vi } from "vitest";
import { readPrompt } from "./support/prompt-reader.ts";
import { anyCharacter } from "../../core/test/support/any-character.ts";

vi.setConfig({ testTimeout: 300_000 });

// Each is a process.
const numRuns = inject("exhaustive") ? 200 : 20;
/** Answers with what it was asked. */
const echo = commandLineModel({ command: "cat" });

async function ask(
  messages: readonly Message[],
  tools: ModelRequest["tools"] = [],
): Promise<ModelResponse | ModelFailure> {
  const { signal } = new AbortController();
  return echo.generate({ messages, tools, toolChoice: undefined, output: undefined, signal });
}

const marks = ["<user>", "</user>", "<system>", "</tools>", '<tool-result id="a" name="b">', "</tool-result>"];
const pieces = fc.constantFrom(...marks, "\n", "\n", "\r\n", "\\", "\u2028", " ", "é", "👩‍👩‍👧", "{", '"', "text", "\0");
const text = fc.oneof(
  fc.array(pieces, { maxLength: 12 }).map((all) => all.join("")),
  fc.string({ unit: anyCharacter }),
);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant("user" as const), text }),
  fc.record({
    role: fc.constant("assistant" as const),
    text,
    toolCalls: fc.array(fc.record({ id: text, name: fc.string(), arguments: text }), { minLength: 1, maxLength: 3 }),
  }),
  fc.record({ role: fc.constant("tool" as const), callId: text, name: fc.string(), text, isError: fc.boolean() }),
);

test("CMD-2 CMD-3 no text can end its block or begin another: what was sent can be read back", async () => {
  const conversation = fc.tuple(text, fc.array(message, { minLength: 1, maxLength: 6 }));
  await fc.assert(
    fc.asyncProperty(conversation, async ([system, rest]) => {
      const messages: readonly Message[] = [{ role: "system", text: system }, ...rest];
      const answer = await ask(messages);
      if (answer.failure !== undefined) throw new Error(answer.message);
      const said = messages.map(({ role, text: own, ...more }) => ({
        role,
        text: own,
        ...("toolCalls" in more ? { toolCalls: more.toolCalls } : {}),
        ...("callId" in more ? { callId: more.callId } : {}),
      }));
      expect(readPrompt(`${answer.message.text}\n`).messages).toEqual(said);
    }),
    { numRuns, seed: 6 },
  );
});

const odd = fc.jsonValue({ maxDepth: 2 });
const answerLike = fc.dictionary(
  fc.constantFrom("text", "toolCalls", "usage", "model", "finishReason", "refusal"),
  fc.oneof(odd, fc.array(fc.record({ name: fc.string(), id: odd, arguments: odd }, { requiredKeys: [] }))),
);
const printed = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.json(),
  answerLike.map((answer) => JSON.stringify(answer)),
  fc.tuple(answerLike, fc.nat(40)).map(([answer, length]) => JSON.stringify(answer).slice(0, length)),
  answerLike.map((answer) => `\`\`\`json\n${JSON.stringify(answer)}\n\`\`\``),
);

test("CMD-4 whatever is printed is an answer with texts and counts, or an invalid response", async () => {
  await fc.assert(
    fc.asyncProperty(printed, async (output) => {
      const answer = await ask([{ role: "user", text: output }]);
      if (answer.failure !== undefined) {
        expect(answer).toMatchObject({ failure: "provider", reason: "invalid_response" });
        return;
      }
      const { message: said, usage = {} } = answer;
      expect(typeof said.text).toBe("string");
      for (const { id, name, arguments: given } of said.toolCalls)
        expect([typeof id, typeof name, typeof given]).toEqual(["string", "string", "string"]);
      for (const count of Object.values(usage)) expect(count).toBeGreaterThanOrEqual(0);
    }),
    { numRuns, seed: 6 },
  );
});
