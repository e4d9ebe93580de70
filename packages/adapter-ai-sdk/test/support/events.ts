import type { Respond } from "@proviso/fault-matrix/loopback-server";

type Event = object | string;

/** A stream of events of status 200: ended, cut at once or when all of it was read, or left open. */
export function streaming(events: readonly Event[], end: "ended" | "cut" | "cut late" | "open" = "ended"): Respond {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events)
      response.write(typeof event === "string" ? event : `data: ${JSON.stringify(event)}\n\n`);
    if (end === "ended") response.end();
    if (end === "cut") setImmediate(() => response.destroy());
    if (end === "cut late") setTimeout(() => response.destroy(), 100);
  };
}

const response = { id: "resp_1", object: "response", created_at: 1, model: "gpt-test", output: [] };
const usage = { input_tokens: 3, output_tokens: 2, total_tokens: 5 };
const item = { id: "msg_1", type: "message", role: "assistant" };
const at = { item_id: "msg_1", output_index: 0, content_index: 0 };
const done = (content: object) => ({ output_index: 0, item: { ...item, status: "completed", content: [content] } });

/** Events of the Responses API; each is numbered by its place. */
const responses = {
  created: { type: "response.created", response: { ...response, status: "in_progress" } },
  begun: { type: "response.output_item.added", output_index: 0, item: { ...item, status: "in_progress", content: [] } },
  hello: { type: "response.output_text.delta", ...at, delta: "Hello" },
  you: { type: "response.output_text.delta", ...at, delta: " you." },
  whole: { type: "response.output_item.done", ...done({ type: "output_text", text: "Hello you.", annotations: [] }) },
  refusing: { type: "response.refusal.delta", ...at, delta: "I cannot." },
  refused: { type: "response.output_item.done", ...done({ type: "refusal", refusal: "I cannot." }) },
  end: { type: "response.completed", response: { ...response, status: "completed", usage } },
  short: {
    type: "response.incomplete",
    response: { ...response, status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, usage },
  },
  failed: {
    type: "response.failed",
    response: { ...response, status: "failed", error: { code: "server_error", message: "Oops." } },
  },
  error: { type: "error", code: "server_error", message: "Oops.", param: null },
  overloaded: { type: "error", error: { type: "overloaded_error", code: null, message: "Oops." } },
  odd: { type: "response.hologram", volume: 1 },
  garbled: "data: {bad\n\n",
} as const;

const chunk = (delta: object, reason: string | null = null) => ({
  id: "1",
  object: "chat.completion.chunk",
  created: 1,
  model: "gpt-test",
  choices: [{ index: 0, delta, finish_reason: reason }],
});

/** The same of Chat Completions, where there is the same. */
const chat: Readonly<Record<keyof typeof responses, Event | undefined>> = {
  created: chunk({ role: "assistant", content: "" }),
  begun: undefined,
  hello: chunk({ content: "Hello" }),
  you: chunk({ content: " you." }),
  whole: undefined,
  refusing: chunk({ refusal: "I cannot." }),
  refused: undefined,
  end: chunk({}, "stop"),
  short: chunk({}, "length"),
  failed: { error: { code: "server_error", message: "Oops." } },
  error: { error: { code: "server_error", type: "server_error", message: "Oops." } },
  overloaded: { error: { type: "overloaded_error", code: null, message: "Oops." } },
  odd: { object: "hologram", volume: 1 },
  garbled: "data: {bad\n\n",
};

export type EventName = keyof typeof responses;

/** Events by their names, numbered where the wire numbers them; "hello*" is the event before, once more. */
export function eventsOf(api: "responses" | "chat", names: readonly (EventName | `${EventName}*`)[]): readonly Event[] {
  let number = 0;
  return names.flatMap((name): Event | [] => {
    const again = name.endsWith("*");
    const event = (api === "responses" ? responses : chat)[name.replace("*", "") as EventName];
    if (event === undefined || typeof event === "string") return event ?? [];
    return api === "responses" ? { ...event, sequence_number: again ? number - 1 : number++ } : event;
  });
}
