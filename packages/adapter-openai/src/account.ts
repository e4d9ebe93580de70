import type { ModelFailure, ModelRequest } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { listAt, textAt, UnknownItems, type Json } from "@proviso/adapter-kit";
import type { CheckedOptions } from "./options.ts";

/** Marks what `fromResponses` keeps for replay. */
export const responsesItems = "openai.responses";

/** The accounts that made the items of an answer; kept in memory alone, because what identifies one holds the key. */
const makers = new WeakMap<object, string>();

/**
 * An account at a service, which alone can look up what it has stored, and open what it has sealed. Sources:
 * https://github.com/openai/codex/issues/3573, https://github.com/BerriAI/litellm/pull/27703.
 */
export class Account {
  /** The host of the service. It is written beside the items of an answer, where a saved conversation has it too. */
  readonly service: string;
  /** The address, organization and key. Clients whose key cannot be read count as one account: a refusal teaches them. */
  readonly #identity: string;
  readonly #unknown = new UnknownItems((items) =>
    listAt(items, "items")
      .map((item) => textAt(item, "id"))
      .filter(Boolean),
  );

  constructor({ baseURL, apiKey, organization }: Omit<CheckedOptions, "account">) {
    this.service = baseURL === undefined ? "api.openai.com" : new URL(baseURL).host;
    this.#identity = [this.service, organization, apiKey].join("\n");
  }

  /** Grows with every refusal that was learned from: what was made of messages before is out of date then. */
  get refusals(): number {
    return this.#unknown.lessons;
  }

  /** Remembers that it made an answer's items. */
  made(items: unknown): void {
    if (isRecord(items)) makers.set(items, this.#identity);
  }

  /** Whether an answer's items may be known to it; those of which nothing is known, as in a saved conversation, may. */
  knows(items: Json): boolean {
    return this.#mayHaveMade(items) && !this.#unknown.has(items);
  }

  #mayHaveMade(items: Json): boolean {
    const { service = this.service } = items;
    return service === this.service && (makers.get(items) ?? this.#identity) === this.#identity;
  }

  /**
   * Learns from a refusal that it does not know the items of a request. Returns whether the request can be sent again
   * without them. `since`: the refusals when it was sent.
   */
  learns(failure: ModelFailure, request: ModelRequest, since: number): boolean {
    const mayKnow = (items: Json): boolean => items["api"] === responsesItems && this.#mayHaveMade(items);
    return this.#unknown.learn(failure, request, mayKnow, since).length > 0;
  }
}
