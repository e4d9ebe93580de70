import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { inject } from "vitest";
import { overTheWire } from "./over-the-wire.ts";

const asObjects = "the wire has a call's arguments as an object, not as its text";
const inWords = "the service has no code for it, only words of its own";
const ofObjects = [
  "LOOP-2 arguments are replayed",
  "PRO-1 the same events, messages and state as in process, with tools: calls that work, fail",
].map((rule) => ({ rule, why: asObjects }));
const inProcess = "PRO-1 the same events, messages and state as in process:";

overTheWire(
  "@ai-sdk/google",
  ({ apiKey, baseURL, ...given }) =>
    aiSdk({ model: createGoogle({ apiKey, baseURL })("gemini-3-pro-preview"), secrets: [apiKey], ...given }),
  [
    ...ofObjects,
    { rule: `${inProcess} a context that is too long`, why: inWords },
    { rule: "TOOL-1", why: asObjects },
    { rule: "LOOP-5 a refusal, a filter", why: "Gemini has no refusal beside its filters" },
    { rule: `${inProcess} a refused answer`, why: "Gemini has no refusal beside its filters" },
  ],
);

if (inject("exhaustive")) {
  overTheWire(
    "@ai-sdk/anthropic",
    ({ apiKey, baseURL, ...given }) =>
      aiSdk({ model: createAnthropic({ apiKey, baseURL })("claude-sonnet-4-5"), secrets: [apiKey], ...given }),
    [
      ...ofObjects,
      { rule: `${inProcess} a context that is too long`, why: inWords },
      { rule: `${inProcess} an exhausted quota`, why: inWords },
      { rule: "LOOP-5 a refusal, a filter", why: "Anthropic gives one reason for a refusal and a filter" },
      { rule: `${inProcess} a filtered answer`, why: "Anthropic gives one reason for a refusal and a filter" },
      { rule: "PRO-2 a setting that was not set", why: "the service requires max_tokens" },
      { rule: "LOOP-5 a long answer", why: "the package asks for 64,000 tokens at most" },
      { rule: "LIM-6", why: "the package takes no answer without a usage" },
      { rule: "TOOL-7", why: "the package takes no call without an id" },
      { rule: "TOOL-1", why: "the package refuses a body with the key __proto__" },
    ],
  );
}
