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
  #lessons = 0;

  /** `idsIn`: the ids by which the service knows a message's items. */
  constructor(idsIn: (items: object) => readonly string[]) {
    this.#idsIn = idsIn;
  }

  has(items: object): boolean {
    return this.#ids.size > 0 && this.#idsIn(items).some((id) => this.#ids.has(id));
  }

  /** Grows with every refusal that was learned from. */
  get lessons(): number {
    return this.#lessons;
  }

  /**
   * Learns from a refusal that the account does not know the items of a request, of which it names one at most: all for
   * which `mayKnow` holds. Returns the messages that have them; without these items the request can be sent again. `since`:
   * the lessons when it was sent; what another request has taught meanwhile went out with this one, too.
   */
  learn(
    { payload }: ModelFailure,
    { messages }: ModelRequest,
    mayKnow: (items: Json) => boolean,
    since: number,
  ): ModelRequest["messages"] {
    if (!isItemUnknown(payload)) return [];
    const hasNew = since < this.#lessons;
    const sent = messages.filter((message) => {
      const items = message.role === "assistant" ? message.providerItems : undefined;
      if (!isRecord(items) || !mayKnow(items) || this.#idsIn(items).length === 0) return false;
      return hasNew || !this.has(items);
    });
    const ids = sent.flatMap((message) => this.#idsIn((message as { readonly providerItems: object }).providerItems));
    if (this.#ids.size + ids.length > most) this.#ids.clear();
    for (const id of ids) this.#ids.add(id);
    if (sent.length > 0) this.#lessons++;
    return sent;
  }
}
