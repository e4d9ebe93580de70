import { openai } from "@proviso/adapter-openai";
import { leanFetch } from "@proviso/adapter-openai/node";
import { describeFaultMatrix } from "@proviso/fault-matrix";
import { inject } from "vitest";

const lean = leanFetch();
const slice = (part: number) => (inject("exhaustive") ? undefined : { part, of: 2 });

for (const api of ["responses", "chat"] as const) {
  describeFaultMatrix(`openai over leanFetch, ${api}`, {
    api,
    slice: slice(0),
    make: (connection) => openai({ model: "gpt-5.4", api, apiKey: "sk-matrix-0123456789", fetch: lean, ...connection }),
  });
  describeFaultMatrix(`openai, ${api}`, {
    api,
    slice: slice(1),
    make: (connection) => openai({ model: "gpt-5.4", api, apiKey: "sk-matrix-0123456789", ...connection }),
  });
}
