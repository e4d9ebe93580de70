// The Responses API keeps what it answers, unless `store` is false: a later request may name an item by its id.
import { isObject, type JsonObject } from "./types.ts";

/** Items beyond that are forgotten, the oldest first. */
const most = 10_000;

/** The items of answers, by their ids. */
export class KeptItems {
  readonly #items = new Map<string, { readonly account: string; readonly item: JsonObject }>();

  /** What one account can look up: each key is an account of its own. */
  of(account: string): ItemsOfAccount {
    return {
      find: (id) => {
        const kept = typeof id === "string" ? this.#items.get(id) : undefined;
        return kept?.account === account ? kept.item : undefined;
      },
      keep: (request, answer) => this.#keep(account, request, answer),
    };
  }

  #keep(account: string, request: JsonObject, answer: unknown): void {
    if (request["store"] === false || !isObject(answer) || !Array.isArray(answer["output"])) return;
    for (const item of (answer["output"] as readonly unknown[]).filter(isObject)) {
      if (typeof item["id"] !== "string") continue;
      this.#items.set(item["id"], { account, item: sendable(item) });
      if (this.#items.size > most) this.#items.delete(this.#items.keys().next().value as string);
    }
  }
}

export interface ItemsOfAccount {
  /** Returns the item that a reference names, as a request could have sent it; undefined: there is none. */
  find(id: unknown): JsonObject | undefined;
  /** Keeps the items of an answer to a request that did not refuse it. */
  keep(request: JsonObject, answer: unknown): void;
}

function sendable(item: JsonObject): JsonObject {
  if (!Array.isArray(item["content"])) return item;
  const content = (item["content"] as readonly unknown[]).map((part) =>
    isObject(part) && part["type"] === "output_text" ? { type: part["type"], text: part["text"] } : part,
  );
  return { ...item, content };
}
