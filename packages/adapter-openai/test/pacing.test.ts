import { openai } from "@proviso/adapter-openai";
import { expectCountedBoundsToBePaced, expectTheLimitToBecomeThePace } from "@proviso/fault-matrix/pacing";
import { test } from "vitest";

test.each([
  ["responses", false],
  ["chat", false],
  ["responses", true],
  ["chat", true],
] as const)(
  "PAC-2 over api %s (streamed: %s) the limits of the headers become the pace, and no row is lost",
  (api, isStreamed) =>
    expectTheLimitToBecomeThePace(
      (connection) => openai({ model: "m", api, apiKey: "key-12345678", ...connection }),
      isStreamed,
    ),
);

test.each(["responses", "chat"] as const)(
  "PAC-4 over api %s a service that counts the longest answers, and reports shorter ones, refuses nothing",
  (api) =>
    expectCountedBoundsToBePaced((connection) => openai({ model: "m", api, apiKey: "key-12345678", ...connection })),
);
