import { definePrompt, type ModelProvider, type ModelResponse, type ProviderError } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { testImage } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { inspect } from "node:util";
import { z } from "zod";

const see = definePrompt({ key: "see", params: z.object({ photo: z.file() }), text: "What is it? {{photo}}" });
const photo = testImage({ width: 120, height: 120 });
const base64 = Buffer.from(await photo.bytes()).toString("base64");
const inside = base64.slice(3_000, 3_085);

/** An error as the packages of services throw it: it has the body of the request. */
class CallError extends Error {
  readonly requestBodyValues = { messages: [{ content: [{ data: base64 }] }] };
  readonly url = new URL("https://example.com/v1");
}

function modelThat(generate: ModelProvider["generate"]) {
  const capabilities = { tools: true, nativeOutput: true, files: { types: ["image/png"], from: ["stored"] } } as const;
  return modelAdapter({ name: "m", model: "m", capabilities, generate });
}

/** All that an error shows, however it is looked at. */
const shown = (value: unknown): string => inspect(value, { depth: 20, showHidden: true, maxStringLength: null });

describe("FILE-1 what a service sends back of a file", () => {
  test.each([
    ["in an error's field", () => new CallError("It failed.")],
    ["in an error's message", () => new Error(`It failed: data:image/png;base64,${base64}`)],
    [
      "in the cause of a cause",
      () => new Error("It failed.", { cause: new Error("Deep.", { cause: new CallError("x") }) }),
    ],
    ["in an object of a class", () => ({ at: new URL("https://example.com/"), body: new Map([["data", base64]]) })],
    ["in base64url", () => ({ body: base64.replaceAll("+", "-").replaceAll("/", "_") })],
    ["as bytes", () => ({ body: Buffer.from(base64, "base64") })],
    ["below two hundred lists", () => Array.from({ length: 200 }).reduce<unknown>((inner) => [inner], base64)],
  ])("FILE-1 %s is in no cause and no payload of an error", async (_, make) => {
    const cause = make();
    const failing = modelThat(async () => ({
      failure: "provider",
      reason: "unknown",
      message: "It failed.",
      cause,
      payload: { cause },
    }));
    const error = (await failing.evaluate(see.bind({ photo })).catch((caught: unknown) => caught)) as ProviderError;
    expect(error.code).toBe("provider");
    const all = `${shown(error.cause)} ${shown(error.providerPayload)} ${JSON.stringify(error.providerPayload)}`;
    expect(all).not.toContain(inside);
    expect(all).not.toContain(inside.replaceAll("+", "-").replaceAll("/", "_"));
    // An error that takes the place of one has its texts and its cause, and none of its fields.
    if (!(cause instanceof Error) || cause.message.length > 100) {
      expect(all).toMatch(/characters of base64, hash [0-9a-f]{64}|\[\d+ bytes\]/);
    }
  });

  test("FILE-1 a cause without long base64 stays the very object that it is", async () => {
    const cause = new Error("It failed.");
    const failing = modelThat(async () => ({ failure: "provider", reason: "unknown", message: "No.", cause }));
    const error = await failing.evaluate(see.bind({ photo })).catch((caught: unknown) => caught);
    expect((error as ProviderError).cause).toBe(cause);
  });

  test("FILE-1 it is not in the payload of an answer, nor in that of a failing listener's error", async () => {
    const answer: ModelResponse = {
      message: { role: "assistant", text: "A square.", toolCalls: [] },
      finishReason: "stop",
      payload: { echo: base64, at: new Date(0) },
    };
    const answering = modelThat(async () => answer);
    const { providerPayload } = await answering.evaluate(see.bind({ photo }));
    expect(providerPayload).toMatchObject({
      echo: expect.stringMatching(/^\[\d+ characters of base64/),
      at: new Date(0),
    });
    const session = createSession();
    session.on("prompt.executed", () => {
      throw new Error("No.");
    });
    const error = await answering.evaluate(see.bind({ photo }), { session }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "listener" });
    expect(JSON.stringify((error as ProviderError).providerPayload)).not.toContain(inside);
  });
});
