import type { AnswerStep, SimulatedRequest } from "@proviso/simulator";
import { readText } from "./picture.ts";

/** Plays a model that reads pictures: it finds the letters by their dots, and takes an 8 for a 6 at first. */
export function read(request: SimulatedRequest): AnswerStep {
  const [, base64 = ""] = /data:image\/png;base64,([A-Za-z0-9+/=]+)/.exec(JSON.stringify(request.body)) ?? [];
  const [shop = "", ...lines] = readText(Buffer.from(base64, "base64")).filter((line) => line !== "");
  // A second look comes after an answer that did not fit.
  const isFirstLook = request.messages.every(({ role }) => role !== "assistant");
  const rows = lines.map((line) => {
    const at = line.lastIndexOf(" ");
    const amount = line.slice(at + 1);
    return { name: line.slice(0, at).trim(), euros: Number(isFirstLook ? amount.replace("8", "6") : amount) };
  });
  const total = rows.find(({ name }) => name === "TOTAL")?.euros ?? 0;
  return { output: { shop, items: rows.filter(({ name }) => name !== "TOTAL"), total } };
}
