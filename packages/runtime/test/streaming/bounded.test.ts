import { definePrompt, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

const prompt = definePrompt({ key: "p", text: "Say yes." }).bind();
const piece = "x".repeat(1024 * 1024);

test.each(["text", "reasoning"] as const)(
  "STR-1 LIM-9 an answer that streams %s without end is refused, whatever its provider makes of that, and not asked for again",
  async (kind) => {
    let [pieces, asked] = [0, 0];
    const provider: ModelProvider = {
      ...scriptedModel([]),
      async generate({ onDelta }) {
        asked += 1;
        try {
          for (; pieces < 100; pieces++) onDelta?.({ kind, text: piece });
        } catch {
          // As a library does that takes any error for one of the network.
        }
        return { failure: "throttle", kind: "unknown", message: "broken" };
      },
    };
    const stream = modelAdapter(provider, fakeEnvironment()).stream(prompt);
    await expect(stream.response).rejects.toMatchObject({
      code: "provider",
      reason: "invalid_response",
      message: expect.stringContaining("streams more than 16777216 characters") as string,
    });
    expect([pieces, asked]).toEqual([16, 1]);
  },
);
