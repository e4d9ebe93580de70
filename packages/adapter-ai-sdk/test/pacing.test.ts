import { createOpenAI } from "@ai-sdk/openai";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { expectTheLimitToBecomeThePace } from "@proviso/fault-matrix/pacing";
import { test } from "vitest";

test.each([false, true])(
  "PAC-2 over the ai ecosystem (streamed: %s) the limits of the headers become the pace, and no row is lost",
  (isStreamed) =>
    expectTheLimitToBecomeThePace(({ baseURL, clock }) => {
      const { chat } = createOpenAI({ apiKey: "key-12345678", baseURL });
      return aiSdk({ model: chat("m"), clock });
    }, isStreamed),
);
