import type { ModelFailure, ModelRequest } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { Json } from "./body.ts";
import { isItemUnknown } from "./error-text.ts";

/** More ids than that are not remembered; what was forgotten is refused once more. */
const most = 10_000;

/** Items of answers that an account does not know: another one's, or stored too long ago. */
export class UnknownItems {
  readonly #idsIn: (items: object) => readonly string[];
  readonly #ids = new Set<string>();

  /** `idsIn`: the ids by which the service knows a message's items. */
  constructor(idsIn: (items: object) => readonly string[]) {
    this.#idsIn = idsIn;
  }

  has(items: object): boolean {
    return this.#ids.size > 0 && this.#idsIn(items).some((id) => this.#ids.has(id));
  }

  /**
   * Learns from a refusal that the account does not know the items of a request, of which it names one at most: all for
   * which `isSent` holds. Returns the messages that have them; without these items the request can be sent again.
   */
  learn(
    { payload }: ModelFailure,
    { messages }: ModelRequest,
    isSent: (items: Json) => boolean,
  ): ModelRequest["messages"] {
    if (!isItemUnknown(payload)) return [];
    const sent = messages.filter((message) => {
      const items = message.role === "assistant" ? message.providerItems : undefined;
      return isRecord(items) && !this.has(items) && isSent(items) && this.#idsIn(items).length > 0;
    });
    const ids = sent.flatMap((message) => this.#idsIn((message as { readonly providerItems: object }).providerItems));
    if (this.#ids.size + ids.length > most) this.#ids.clear();
    for (const id of ids) this.#ids.add(id);
    return sent;
  }
}
