import { openai } from "@proviso/adapter-openai";
import { describeCanary } from "@proviso/fault-matrix";

for (const api of ["responses", "chat"] as const) {
  describeCanary(`openai, ${api}`, {
    make: ({ baseURL, apiKey, ...watched }) => openai({ model: "gpt-5.4", api, baseURL, apiKey, ...watched }),
  });
  describeCanary(`openai, ${api}, a key in a header`, {
    make: ({ baseURL, apiKey, ...watched }) =>
      openai({ model: "gpt-5.4", api, baseURL, apiKey: "sk-another-one", headers: { "api-key": apiKey }, ...watched }),
  });
}
