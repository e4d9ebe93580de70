import { textAt, type Json } from "./body.ts";

const lastEvents: readonly string[] = ["response.completed", "response.incomplete", "response.failed"];

/** Whether an event of the Responses API is a stream's last. Some servers end one with another event and a status. */
export function endsResponse(type: string, response: Json): boolean {
  if (lastEvents.includes(type)) return true;
  return type.startsWith("response.") && ["cancelled", "failed"].includes(textAt(response, "status"));
}
