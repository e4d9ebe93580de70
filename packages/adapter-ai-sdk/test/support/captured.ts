import { answering, type Respond } from "@proviso/fault-matrix/loopback-server";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A captured answer: `.json`, or the text of an event stream, `.sse`. */
export function captured(name: string): Respond {
  const text = readFileSync(join(import.meta.dirname, "..", "__fixtures__", name), "utf8");
  if (!name.endsWith(".sse")) return answering(200, text);
  return answering(200, text, { "content-type": "text/event-stream" });
}
