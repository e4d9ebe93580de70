import { compatibleService, type CheckedOptions } from "./options.ts";
import type { RequestFormat } from "./request-format.ts";
import { chatFormat } from "./to-chat.ts";
import { responsesFormat } from "./to-responses.ts";

/** How requests are written for the API that was chosen. */
export function formatOf(options: CheckedOptions): RequestFormat {
  return options.api === "responses" ? responsesFormat(options.account) : chatFormat(compatibleService(options));
}
