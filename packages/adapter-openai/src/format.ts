import type { CheckedOptions } from "./options.ts";
import type { RequestFormat } from "./request-format.ts";
import { chatFormat } from "./to-chat.ts";
import { responsesFormat } from "./to-responses.ts";

/** How requests are written for the API that was chosen. */
export function formatOf({ api }: CheckedOptions): RequestFormat {
  return api === "responses" ? responsesFormat : chatFormat;
}
