import { openai, type OpenAIOptions } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";
import { playScript } from "@proviso/fault-matrix";
import { describeAdapter } from "@proviso/runtime/conformance";

function describeOpenAI(name: string, options: Partial<OpenAIOptions>): void {
  describeAdapter(name, {
    async start(script, settings) {
      const { baseURL, ...played } = await playScript(script);
      // Without storage, so that what was thought travels, encrypted: LOOP-2 looks for it in the next request.
      const all = { model: "gpt-5.4", baseURL, store: false, ...options, ...settings };
      return { ...played, adapter: openai(all as OpenAIOptions) };
    },
  });
}

const fetch = leanFetch();

for (const api of ["responses", "chat"] as const) {
  describeOpenAI(`openai, ${api}`, { api });
  describeOpenAI(`openai over leanFetch, ${api}`, { api, fetch });
  describeOpenAI(`openai without native output, ${api}`, { api, nativeOutput: false });
}
