// 1. Only grows, at its end; a message in it never changes, but for the prompt's own texts when sections open.
// 2. A turn's calls and the answers to all of them are appended as one: no call is ever without its answer.
import {
  frozenInDepth,
  type AssistantMessage,
  type Message,
  type RenderedPrompt,
  type ToolMessage,
} from "@proviso/core";
import { charactersOf, textOf, utf8Length } from "./usage.ts";

export interface Conversation {
  /** What is sent: the system text, then all messages. */
  request(): readonly Message[];
  /** What can be given to the next evaluation. */
  messages(): readonly Message[];
  /** UTF-16 units of what is sent. */
  characters(): number;
  /** UTF-8 bytes of what is sent, from that message on. */
  bytesFrom(index: number): number;
  /** A turn that is over. */
  append(message: AssistantMessage, answers: readonly ToolMessage[]): void;
  /** The prompt's own texts as they are now, in place of what they were. */
  rerender(rendered: RenderedPrompt): void;
  /** The user's next word. */
  say(text: string): void;
}

export function startConversation(rendered: RenderedPrompt, earlier: readonly Message[]): Conversation {
  let system = systemOf(rendered);
  const messages: Message[] = earlier.filter(({ role }) => role !== "system").map(freeze);
  const ownMessage = messages.length;
  // What renders to nothing was refused, and without a user section all of it is the user's.
  messages.push(freeze({ role: "user", text: rendered.user }));
  let characters = sumOf([...system, ...messages]);
  /** Of all messages up to each. */
  let bytes: number[] = [0];

  const add = (message: Message): void => {
    messages.push(freeze(message));
    characters += charactersOf(message);
  };
  return {
    request: () => [...system, ...messages],
    messages: () => Object.freeze([...messages]),
    characters: () => characters,
    bytesFrom(index) {
      const all = system.length + messages.length;
      for (let i = bytes.length - 1; i < all; i++) {
        bytes.push((bytes[i] ?? 0) + bytesOf((system[i] ?? messages[i - system.length]) as Message));
      }
      return (bytes[all] ?? 0) - (bytes[index] ?? 0);
    },
    append(message, answers) {
      add(message);
      for (const answer of answers) add(answer);
    },
    rerender(now) {
      const before = [...system, messages[ownMessage] as Message];
      system = systemOf(now);
      messages[ownMessage] = freeze({ role: "user", text: now.user });
      const after = [...system, messages[ownMessage]];
      characters += sumOf(after) - sumOf(before);
      bytes = [0];
    },
    say: (text) => add({ role: "user", text }),
  };
}

function systemOf({ system }: RenderedPrompt): readonly Message[] {
  return system === "" ? [] : [freeze({ role: "system", text: system })];
}

function sumOf(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + charactersOf(message), 0);
}

function bytesOf(message: Message): number {
  if (message.role !== "assistant") return utf8Length(message.text);
  const { text, toolCalls, providerItems } = message;
  const texts = [text, ...toolCalls.flatMap((call) => [call.name, textOf(call.arguments)]), toJsonText(providerItems)];
  return texts.reduce((sum, part) => sum + utf8Length(part), 0);
}

function toJsonText(items: unknown): string {
  return items === undefined ? "" : JSON.stringify(items);
}

function freeze(message: Message): Message {
  if (message.role !== "assistant") return Object.freeze(message);
  try {
    return frozenInDepth(message);
  } catch {
    // A provider's own items may be anything; what cannot be frozen is left as it came.
    return message;
  }
}
