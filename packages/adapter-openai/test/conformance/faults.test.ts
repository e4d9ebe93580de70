import { openai } from "@proviso/adapter-openai";
import { describeFaultMatrix } from "@proviso/fault-matrix";

for (const api of ["responses", "chat"] as const) {
  describeFaultMatrix(`openai, ${api}`, {
    api,
    make: (connection) =>
      openai({ model: "gpt-5.4", api, apiKey: "sk-matrix-0123456789", stallMs: 10_000, ...connection }),
  });
}
