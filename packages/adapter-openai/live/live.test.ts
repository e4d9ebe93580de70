import { openai } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";
import { deadlineIn, defineEvent, definePrompt, defineSlice, defineTool, type ProviderAdapter } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { describe, expect, test } from "vitest";
import { z } from "zod";

// A small fixed suite against the real service: `pnpm test:live` with OPENAI_API_KEY; it costs some cents.
const hasKey = (process.env["OPENAI_API_KEY"] ?? "") !== "";
const model = process.env["PROVISO_MODEL"] ?? "gpt-5.4";
const limits = () => ({ deadline: deadlineIn(60_000), budget: { maxTotalTokens: 20_000 } });

const noted = defineEvent("noted", z.object({ word: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { word }) => void draft.push(word)),
});
const note = defineTool({
  name: "note",
  description: "Keeps one word.",
  input: z.object({ word: z.string() }),
  execute: ({ word }, { session }) => void session.dispatch(noted({ word })),
});
const words = definePrompt({
  ns: "live",
  key: "words",
  output: z.object({ words: z.array(z.string()) }),
  sections: [
    {
      key: "guide",
      text: "Call note once for each word that the user gives, then answer with the words.",
      tools: [note],
      slices: [notes],
    },
    { key: "ask", text: "Apple, pear.", role: "user" },
  ],
}).bind();

const adapters: Readonly<Record<string, () => ProviderAdapter>> = {
  responses: () => openai({ model, api: "responses" }),
  "responses, not stored": () => openai({ model, api: "responses", store: false }),
  chat: () => openai({ model, api: "chat" }),
  "chat over leanFetch": () => openai({ model, api: "chat", fetch: leanFetch() }),
};

describe.skipIf(!hasKey)(
  `live, ${model}${hasKey ? "" : ": skipped, OPENAI_API_KEY is not set"}`,
  { timeout: 90_000 },
  () => {
    test.each(Object.entries(adapters))("LOOP-1 tools and a structured answer over %s", async (_, make) => {
      const session = createSession();
      const { output, usage } = await make().evaluate(words, { session, ...limits() });
      expect(output.words.map((word) => word.toLowerCase())).toEqual(["apple", "pear"]);
      expect(session.get(notes)).toHaveLength(2);
      expect(usage.estimated).toBe(false);
    });

    test.each(Object.entries(adapters))("STR-1 the same, streamed over %s", async (_, make) => {
      const stream = make().stream(words, limits());
      let deltas = 0;
      for await (const event of stream) if (event.type === "text.delta") deltas += 1;
      expect((await stream.response).output.words).toHaveLength(2);
      expect(deltas).toBeGreaterThan(0);
    });

    test("ERR-1 a model that is not there is a ProviderError", async () => {
      const evaluating = openai({ model: "no-such-model" }).evaluate(words, limits());
      await expect(evaluating).rejects.toMatchObject({ code: "provider", reason: "not_found" });
    });

    test("SEC-1 a wrong key is a ProviderError that does not show it", async () => {
      const apiKey = "sk-wrong-0123456789abcdef";
      const error = await openai({ model, apiKey })
        .evaluate(words, limits())
        .catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "provider", reason: "api_key" });
      expect(JSON.stringify(error)).not.toContain(apiKey);
    });
  },
);
