import { isObject, textAt } from "./parts.ts";

/** What counts of the parts that come of one event. */
export type Counts = "all" | "no text" | "nothing";

const terminal = new Set(["response.completed", "response.incomplete", "response.failed"]);

/**
 * Looks at the raw events of OpenAI's wires, which come twice and late: an SDK would add them to the answer. Responses
 * numbers its events and names the last one; of Chat Completions nothing but the usage comes after the reason.
 */
export function eventOrder(): (raw: unknown) => Counts {
  let last = -1;
  let over = false;
  return (raw) => {
    if (!isObject(raw)) return "all";
    const { sequence_number: number, choices } = raw;
    if (Array.isArray(choices)) {
      const late = over;
      over ||= choices.some((choice) => textAt(choice, "finish_reason") !== "");
      return late ? "no text" : "all";
    }
    if (over || (typeof number === "number" && number <= last)) return "nothing";
    if (typeof number === "number") last = number;
    over = terminal.has(textAt(raw, "type"));
    return "all";
  };
}
