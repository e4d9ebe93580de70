import { isRecord } from "@proviso/core/provider";
import { listAt, textAt, type Json } from "./body.ts";

const lastEvents: readonly string[] = ["response.completed", "response.incomplete", "response.failed"];

/** Whether an event of the Responses API is a stream's last. Some servers end one with another event and a status. */
export function endsResponse(type: string, response: Json): boolean {
  if (lastEvents.includes(type)) return true;
  return type.startsWith("response.") && ["cancelled", "failed"].includes(textAt(response, "status"));
}

/** The items that a stream of the Responses API gives one by one. */
export interface StreamedItems {
  /** Takes the item of an event, where the event has a whole one. */
  read(event: Json): void;
  /** The last event's answer, with the items where it leaves them out, as some servers do. */
  whole(response: Json): Json;
}

/** Collects the items of one stream by their places. Some servers give all of them the same place. */
export function streamedItems(): StreamedItems {
  const items: Json[] = [];
  const places = new Map<string, number>();
  return {
    read({ type, item, output_index: index }) {
      if (type !== "response.output_item.done" || !isRecord(item)) return;
      const isPlace = typeof index === "number" && index >= 0 && index < 10_000;
      if (!isPlace) return void items.push(item);
      const key = JSON.stringify([index, item["type"], item["id"], item["call_id"]]);
      const place = places.get(key) ?? (items[index] === undefined ? index : items.length);
      places.set(key, place);
      items[place] = item;
    },
    whole(response) {
      if (textAt(response, "status") !== "completed" || listAt(response, "output").length > 0) return response;
      return { ...response, output: items.filter((item) => item !== undefined) };
    },
  };
}
