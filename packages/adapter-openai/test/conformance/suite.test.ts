import { openai } from "@proviso/adapter-openai";
import { playScript } from "@proviso/fault-matrix";
import { describeAdapter } from "@proviso/runtime/conformance";

for (const api of ["responses", "chat"] as const) {
  describeAdapter(`openai, ${api}`, {
    async start(script, settings) {
      const { baseURL, ...played } = await playScript(script);
      return { ...played, adapter: openai({ model: "gpt-5.4", api, baseURL, ...settings }) };
    },
  });
}
