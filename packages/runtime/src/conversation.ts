// 1. Only grows, at its end; a message in it never changes.
// 2. A turn's calls and the answers to all of them are appended as one: no call is ever without its answer.
import type { AssistantMessage, Message, RenderedPrompt, ToolMessage } from "@proviso/core";

export interface Conversation {
  /** What is sent: the system text, then all messages. */
  request(): readonly Message[];
  /** What can be given to the next evaluation. */
  messages(): readonly Message[];
  /** A turn that is over. */
  append(message: AssistantMessage, answers: readonly ToolMessage[]): void;
}

export function startConversation(rendered: RenderedPrompt, earlier: readonly Message[]): Conversation {
  const system: readonly Message[] = rendered.system === "" ? [] : [freeze({ role: "system", text: rendered.system })];
  const messages: Message[] = earlier.filter(({ role }) => role !== "system");
  if (rendered.user !== "") messages.push(freeze({ role: "user", text: rendered.user }));
  return {
    request: () => [...system, ...messages],
    messages: () => [...messages],
    append: (message, answers) => void messages.push(freeze(message), ...answers.map(freeze)),
  };
}

function freeze(message: Message): Message {
  return Object.freeze(message);
}
