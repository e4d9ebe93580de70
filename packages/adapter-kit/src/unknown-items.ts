import type { ModelFailure, ModelRequest } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { isItemUnknown } from "./error-text.ts";

/** Items of answers that an account does not know: another one's, or stored too long ago. */
export class UnknownItems {
  readonly #items = new WeakSet<object>();

  has(items: object): boolean {
    return this.#items.has(items);
  }

  /**
   * Learns from a refusal that the account does not know the items of a request, of which it names one at most: all for
   * which `isSent` holds. Returns the messages that have them; without these items the request can be sent again.
   */
  learn(
    { payload }: ModelFailure,
    { messages }: ModelRequest,
    isSent: (items: Readonly<Record<string, unknown>>) => boolean,
  ): ModelRequest["messages"] {
    if (!isItemUnknown(payload)) return [];
    return messages.filter((message) => {
      const items = message.role === "assistant" ? message.providerItems : undefined;
      if (!isRecord(items) || this.#items.has(items) || !isSent(items)) return false;
      this.#items.add(items);
      return true;
    });
  }
}
