import { badRequest } from "./refusal.ts";
import { isObject, type JsonObject } from "./types.ts";

/** @throws {Refusal} for a field that is not known. */
export function knownFields(object: JsonObject, keys: ReadonlySet<string>, where = ""): void {
  const unknown = Object.keys(object).find((key) => !keys.has(key));
  if (unknown === undefined) return;
  const place = where === "" ? "" : ` at '${where}'`;
  throw badRequest(`Invalid JSON payload received. Unknown name "${unknown}"${place}: Cannot find field.`, unknown);
}

export function messageAt(value: unknown, where: string): JsonObject {
  if (isObject(value)) return value;
  throw badRequest(`Invalid value at '${where}': it is not a message.`, where);
}
