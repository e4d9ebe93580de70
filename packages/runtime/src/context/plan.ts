// How a history is shortened, as data: what becomes a stub, and what gives way to one message. Pure.
import type { Message } from "@proviso/core";
import { standInOf } from "./stand-in.ts";
import { answeredTurns, type Turn } from "./turns.ts";

/** A history in tokens. */
export interface Measured {
  /** The messages without the system text. */
  readonly messages: readonly Message[];
  /** Where the prompt's own message stands; undefined: it is not known. */
  readonly question: number | undefined;
  /** Tokens of each message. */
  readonly sizes: readonly number[];
  /** Tokens of each message once it is a stub; its own size where a stub would save nothing. */
  readonly stubSizes: readonly number[];
  /** Tokens of what is sent beside the messages. */
  readonly beside: number;
  /** Tokens of the message that stands for others that have so many. */
  standIn(replaced: number): number;
}

/** How short a history has to become, in tokens. */
export interface Goal {
  /** The history is shortened until it has at most so many. */
  readonly target: number;
  /** The newest turns stay as they are where all has at most so many. */
  readonly most: number;
  /** The results of the last calls, which no model has seen yet, stay where all has at most so many. */
  readonly room: number;
  /** The newest turns that stay, where they fit. */
  readonly keepTurns: number;
}

export interface Plan {
  /** The places of the results that become stubs, in their order. */
  readonly stubs: readonly number[];
  /** The places of the messages that give way, in their order. */
  readonly replaced: readonly number[];
  /** Tokens of the message that stands for those that give way, at most; 0 where none does. */
  readonly standIn: number;
  /** Tokens of the whole request once it is carried out. */
  readonly tokens: number;
}

/** Makes the plan, in the order of CTX-4. Each message is looked at a fixed number of times. */
export function planShortening(history: Measured, { target, most, room, keepTurns }: Goal): Plan {
  const { messages } = history;
  const turns = answeredTurns(messages);
  const newest = turns.slice(Math.max(0, turns.length - keepTurns));
  const oldest = turns.slice(0, turns.length - newest.length);
  const unseen = unseenFrom(messages);
  const draft = new Draft(history, target);
  draft.stub(0, Math.min(unseen, oldest.at(-1)?.end ?? 0));
  draft.replace(oldest);
  if (draft.tokens() > most) draft.stub(0, unseen);
  if (draft.tokens() > most) draft.replace([...turns, { start: turns.at(-1)?.end ?? 0, end: messages.length }]);
  if (draft.tokens() > room) draft.stub(unseen, messages.length, room);
  return draft.plan();
}

/** The place of the first result that the next request is the first to carry. */
function unseenFrom(messages: readonly Message[]): number {
  return messages.findLastIndex(({ role }) => role !== "tool") + 1;
}

/** A plan while it is made: nothing more is taken once all has at most so many tokens as it should have. */
class Draft {
  readonly #history: Measured;
  readonly #target: number;
  readonly #staying: ReadonlySet<number>;
  readonly #stubs = new Set<number>();
  /** The places that give way, in the order of the history. */
  readonly #replaced = new Set<number>();
  #messageTokens: number;
  /** Tokens of what gave way, before it did. */
  #replacedTokens = 0;

  constructor(history: Measured, target: number) {
    this.#history = history;
    this.#target = target;
    this.#staying = stayingPlaces(history);
    this.#messageTokens = history.sizes.reduce((sum, size) => sum + size, history.beside);
  }

  tokens(): number {
    return this.#messageTokens + this.#standIn();
  }

  stub(start: number, end: number, target = this.#target): void {
    for (let place = start; place < end; place++) {
      if (this.tokens() <= target) return;
      const saved = this.#size(place) - (this.#history.stubSizes[place] as number);
      if (saved <= 0 || this.#replaced.has(place)) continue;
      this.#stubs.add(place);
      this.#messageTokens -= saved;
    }
  }

  /** Whole turns give way, but for the messages that stay. Where that would save nothing, none does. */
  replace(turns: readonly Turn[]): void {
    const before = this.tokens();
    const given: number[] = [];
    for (const { start, end } of turns) {
      if (this.tokens() <= this.#target) break;
      for (let place = start; place < end; place++) {
        if (this.#staying.has(place) || this.#replaced.has(place)) continue;
        given.push(place);
        this.#give(place);
      }
    }
    if (this.tokens() >= before) for (const place of given) this.#takeBack(place);
  }

  plan(): Plan {
    const stubs = [...this.#stubs].filter((place) => !this.#replaced.has(place));
    return { stubs, replaced: [...this.#replaced], standIn: this.#standIn(), tokens: this.tokens() };
  }

  #give(place: number): void {
    this.#replaced.add(place);
    this.#messageTokens -= this.#size(place);
    this.#replacedTokens += this.#size(place);
  }

  #takeBack(place: number): void {
    this.#replaced.delete(place);
    this.#messageTokens += this.#size(place);
    this.#replacedTokens -= this.#size(place);
  }

  #standIn(): number {
    return this.#replaced.size === 0 ? 0 : this.#history.standIn(this.#replacedTokens);
  }

  #size(place: number): number {
    const { sizes, stubSizes } = this.#history;
    return (this.#stubs.has(place) ? stubSizes : sizes)[place] as number;
  }
}

/** The prompt's own message, the user's last one, and the last turn's calls with their answers. */
function stayingPlaces({ messages, question }: Measured): ReadonlySet<number> {
  const staying = new Set<number>();
  if (question !== undefined) staying.add(question);
  const lastWord = messages.findLastIndex((message) => message.role === "user" && standInOf(message) === undefined);
  if (lastWord !== -1) staying.add(lastWord);
  const unseen = unseenFrom(messages);
  if (unseen === messages.length) return staying;
  for (let place = unseen - 1; place < messages.length; place++) staying.add(place);
  return staying;
}
