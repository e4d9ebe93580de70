import { isRecord } from "@proviso/core/provider";

/** A JSON object as it came over a wire: nothing in it is trusted. */
export type Json = Readonly<Record<string, unknown>>;

/** The object under a key; an empty one where there is none. */
export function objectAt(object: unknown, key: string): Json {
  const value = isRecord(object) ? object[key] : undefined;
  return isRecord(value) ? value : {};
}

/** The objects in the list under a key; whatever else stands in it is passed over. */
export function listAt(object: unknown, key: string): readonly Json[] {
  const value = isRecord(object) ? object[key] : undefined;
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The text under a key; "" where there is none. */
export function textAt(object: unknown, key: string): string {
  const value = isRecord(object) ? object[key] : undefined;
  return typeof value === "string" ? value : "";
}
