import { openai, type OpenAIOptions } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";
import { playScript } from "@proviso/fault-matrix";
import { describeAdapter } from "@proviso/adapter-kit/conformance";
import type { ProviderAdapter } from "@proviso/core";
import { fallback, hedged, paced, priced } from "@proviso/runtime/routing";
import { inject } from "vitest";

function describeOpenAI(
  name: string,
  options: Partial<OpenAIOptions>,
  around: (adapter: ProviderAdapter) => ProviderAdapter = (adapter) => adapter,
): void {
  describeAdapter(name, {
    async start(script, settings) {
      const { baseURL, ...played } = await playScript(script);
      // Without storage, so that what was thought travels, encrypted: LOOP-2 looks for it in the next request.
      const all = { model: "gpt-5.4", baseURL, store: false, ...options, ...settings };
      return { ...played, adapter: around(openai(all as OpenAIOptions)) };
    },
  });
}

const fetch = leanFetch();

// RTE-12 a wrapped adapter does what the adapter does.
describeOpenAI("openai in a fallback, responses", { api: "responses" }, (adapter) => fallback([adapter]));
describeOpenAI("openai over leanFetch, chat", { api: "chat", fetch });

if (inject("exhaustive")) {
  describeOpenAI("openai, responses", { api: "responses" });
  describeOpenAI("openai over leanFetch, responses", { api: "responses", fetch });
  describeOpenAI("openai, chat", { api: "chat" });
  describeOpenAI("openai hedged, chat", { api: "chat" }, (adapter) => hedged([adapter], { afterMs: 600_000 }));
  describeOpenAI("openai priced and paced, chat", { api: "chat" }, (adapter) => priced(paced(adapter)));
  describeOpenAI("openai without native output, responses", { api: "responses", nativeOutput: false });
  describeOpenAI("openai without native output, chat", { api: "chat", nativeOutput: false });
}
