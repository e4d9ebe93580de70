// The Responses API keeps what it answers, unless `store` is false: a later request may name an item by its id.
import { isObject, type JsonObject } from "./types.ts";

/** Items beyond that are forgotten, the oldest first. */
const most = 10_000;

/** The items of answers, by their ids. */
export class KeptItems {
  readonly #items = new Map<string, JsonObject>();

  /** Returns the item that a reference names, as a request could have sent it; undefined: there is none. */
  find(id: unknown): JsonObject | undefined {
    return typeof id === "string" ? this.#items.get(id) : undefined;
  }

  /** Keeps the items of an answer to a request that did not refuse it. */
  keep(request: JsonObject, answer: unknown): void {
    if (request["store"] === false || !isObject(answer) || !Array.isArray(answer["output"])) return;
    for (const item of (answer["output"] as readonly unknown[]).filter(isObject)) {
      if (typeof item["id"] !== "string") continue;
      this.#items.set(item["id"], sendable(item));
      if (this.#items.size > most) this.#items.delete(this.#items.keys().next().value as string);
    }
  }
}

function sendable(item: JsonObject): JsonObject {
  if (!Array.isArray(item["content"])) return item;
  const content = (item["content"] as readonly unknown[]).map((part) =>
    isObject(part) && part["type"] === "output_text" ? { type: part["type"], text: part["text"] } : part,
  );
  return { ...item, content };
}
