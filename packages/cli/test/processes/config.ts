import type { ModelProvider } from "@proviso/core";
import { defineConfig } from "@proviso/cli";
import { modelAdapter } from "@proviso/runtime";

// The config of the tests: a model that answers by what the last message says.
const model: ModelProvider = {
  name: "test",
  model: "test-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages, onDelta, signal, output }) {
    const asked = messages.at(-1)?.text ?? "";
    const usage = { inputTokens: 10, outputTokens: 5 };
    if (asked.includes("refuse")) {
      return { failure: "provider", reason: "content_filter", message: "That is refused.\u001b[2J" };
    }
    if (asked.includes("quit")) {
      // The events so far are printed before.
      await new Promise((later) => setImmediate(later));
      process.exit(0);
    }
    if (asked.includes("wait")) {
      onDelta?.({ kind: "text", text: "This much" });
      (globalThis as { readonly waits?: () => void }).waits?.();
      await new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error)));
    }
    const turns = messages.filter(({ role }) => role === "user").length;
    const said = `You said${turns > 1 ? ` as number ${turns}` : ""}: ${asked}`;
    const text = output === undefined ? said : JSON.stringify({ length: asked.length, said });
    for (const part of text.match(/.{1,8}/gs) ?? []) onDelta?.({ kind: "text", text: part });
    return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop", usage };
  },
};

// oxlint-disable-next-line import/no-default-export -- the form of a config
export default defineConfig({ adapter: (options) => modelAdapter(model, options) });
