// Items that the service does not find any more, or cannot open: another account has them, or they were deleted there.
import type { Message, ModelFailure, ModelRequest, ModelResponse } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";

/** More ids than that are not remembered; what was forgotten is refused once more. */
const most = 10_000;
/** The service's words for a thought that it does not find, and for a sealed one that was made elsewhere. */
const refusal = /\bItem with id '[^']*' not found|encrypted content .{0,200}could not be verified/is;

/** The ids of thoughts and other items of a model's service, as far as it has refused them. */
export class LostItems {
  readonly #ids = new Set<string>();

  /** Whether an answer of the request's history has such an item. */
  isIn({ messages }: ModelRequest): boolean {
    return this.#ids.size > 0 && messages.some((message) => idsIn(message).some((id) => this.#ids.has(id)));
  }

  /** Returns the answer; a refusal of items that the request can do without as one that is asked again, then without them. */
  learn(request: ModelRequest, answer: ModelResponse | ModelFailure): ModelResponse | ModelFailure {
    if (answer.failure !== "provider" || !refusal.test(answer.message) || this.isIn(request)) return answer;
    const ids = request.messages.flatMap(idsIn);
    if (ids.length === 0) return answer;
    if (this.#ids.size + ids.length > most) this.#ids.clear();
    for (const id of ids) this.#ids.add(id);
    return { failure: "throttle", kind: "unknown", message: answer.message };
  }
}

function idsIn(message: Message): readonly string[] {
  if (message.role !== "assistant" || !isRecord(message.providerItems)) return [];
  const { items } = message.providerItems;
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: unknown) => (isRecord(item) && typeof item["id"] === "string" ? [item["id"]] : []));
}
