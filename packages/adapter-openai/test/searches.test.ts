import { openai, openaiTools } from "@proviso/adapter-openai";
import { expectSearches } from "@proviso/fault-matrix/searches";
import { test } from "vitest";

test.each([
  [false, true],
  [true, true],
  [false, false],
  [true, false],
])("PTL-3 PTL-4 SRC-1 the service searches beside a call of ours (streamed: %s, store: %s)", (isStreamed, store) =>
  expectSearches(
    ({ baseURL }) => openai({ model: "gpt-5.4", api: "responses", apiKey: "key-12345678", baseURL, store }),
    openaiTools.webSearch(),
    { isStreamed },
  ),
);
