// Answers of status 200 in the form of Chat Completions that hold an error, for the tests of all adapters that read that form.
import { answering, type Respond } from "./loopback-server.ts";

/** A part of a streamed answer. */
export function chunk(delta: object, finish_reason: string | null = null, more: object = {}): object {
  const choices = [{ index: 0, delta, finish_reason, ...more }];
  return { id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices };
}

/** A streamed answer. */
export function streaming(...chunks: readonly object[]): Respond {
  const events = [...chunks.map((one) => JSON.stringify(one)), "[DONE]"].map((data) => `data: ${data}\n\n`);
  return answering(200, events.join(""), { "content-type": "text/event-stream" });
}

/** An answer as one document. */
export function completion(message: object, finish_reason: string, more: object = {}): object {
  return {
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason, ...more }],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  };
}

/** The answer "Fine." */
export const fine = {
  json: answering(200, completion({ content: "Fine." }, "stop")),
  stream: streaming(chunk({ role: "assistant", content: "Fine." }), chunk({}, "stop")),
};

// OpenRouter's: a status in place of a word. Source: OpenRouter's API reference, "Errors".
const error = { message: "The model is overloaded.", code: 503 };

type BrokenAnswer = readonly [where: string, way: keyof typeof fine, respond: Respond];

/** Answers of status 200 whose error says 503: each is asked again. */
export const brokenAnswers: readonly BrokenAnswer[] = [
  ["as JSON", "json", answering(200, { error })],
  ["as JSON, beside half an answer", "json", answering(200, completion({ content: "Hal" }, "error", { error }))],
  ["as JSON, in a choice without a reason", "json", answering(200, completion({ content: "Hal" }, "", { error }))],
  ["as the first event", "stream", streaming({ error })],
  ["after text", "stream", streaming(chunk({ role: "assistant", content: "Hal" }), { error })],
];

/** Such answers whose error is lost between the wire and an adapter over the AI SDK, whose packages do not pass it on. */
export const brokenBelowPackages: readonly BrokenAnswer[] = [
  ["as JSON for a stream", "stream", answering(200, { error })],
  ["in the last choice", "stream", streaming(chunk({ content: "Hal" }), chunk({ content: "" }, "error", { error }))],
];
