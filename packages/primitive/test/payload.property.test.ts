import { openai } from "@proviso/adapter-openai";
import { definePrimitive } from "@proviso/primitive";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { startSimulator } from "@proviso/simulator";
import fc from "fast-check";
import { expect, inject, test, vi } from "vitest";
import { label, systemPrompt } from "./support.ts";
import { anyCharacter } from "../../core/test/support/any-character.ts";

// A thousand requests take their time on a machine that others use, too.
vi.setConfig({ testTimeout: 300_000 });

const pieces = [
  ..."{{payload}} {{x}} {{system}} {{ {{}} }} \\{{ \\\\{{ \\ $& $1 $$ $` ${y} __proto__ </user> <system> ```json".split(
    " ",
  ),
  "## 1. Title",
  "\u2028",
  "\uD800",
  "\uDFFF\uD800",
  "😀",
  "\r\n\n",
  "\u0000",
  systemPrompt,
];
/** Made of what templating engines, JSON and marks stumble over. */
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: anyCharacter })), { minLength: 1, maxLength: 12 })
  .map((parts) => parts.join(""))
  .filter((text) => text.trim() !== "");
const payloads = inject("exhaustive") ? 1000 : 40;
const settings = { numRuns: payloads, seed: 20_261_121 };

test("BLK-7 hostile payloads arrive unchanged, exactly once, whatever the system prompt is", async () => {
  await fc.assert(
    fc.asyncProperty(hostile, hostile, fc.boolean(), async (system, payload, nativeOutput) => {
      const model = scriptedModel([{ output: { label: "good" } }], { capabilities: { nativeOutput } });
      const block = { name: "classify", systemPrompt: system, output: label };
      const result = await definePrimitive({ ...block, adapter: modelAdapter(model) }).run(payload);
      expect(result.success).toBe(true);
      const [first, ...others] = model.requests[0]?.messages ?? [];
      // PRO-9: no half of a surrogate pair goes to a wire.
      expect(others).toEqual([{ role: "user", text: payload.toWellFormed() }]);
      expect(first?.role).toBe("system");
      expect(first?.text.slice(0, system.length)).toBe(system.toWellFormed());
      const instructions = first?.text.slice(system.length) ?? "";
      expect(instructions === "").toBe(nativeOutput);
      // The second part is the schema's, the same for every payload.
      expect(instructions).not.toContain(payload.length > 40 ? payload.toWellFormed() : "\uFFFF");
    }),
    settings,
  );
});

test("BLK-7 hostile payloads arrive unchanged over the wire", async () => {
  await using simulator = await startSimulator({ rules: [() => ({ output: { label: "good" } })] });
  const adapter = openai({ model: "gpt-5.4", apiKey: "key", baseURL: simulator.baseURL, api: "chat" });
  const primitive = definePrimitive({ name: "classify", systemPrompt, output: label, adapter });
  await fc.assert(
    fc.asyncProperty(hostile, async (payload) => {
      expect(await primitive.run(payload)).toMatchObject({ success: true, data: { label: "good" } });
      const { body } = simulator.requests.at(-1) ?? {};
      expect((body as { readonly messages: unknown }).messages).toEqual([
        expect.objectContaining({ content: systemPrompt }),
        { role: "user", content: payload.toWellFormed() },
      ]);
    }),
    settings,
  );
  expect(simulator.requests).toHaveLength(payloads);
});
