import { badRequest } from "./refusal.ts";
import { isObject, type JsonObject } from "./types.ts";

/** @throws {Refusal} as the service words it: where it is, and what is wrong there. */
export function refuse(path: string, why: string): never {
  throw badRequest(path === "" ? why : `${path}: ${why}`, path === "" ? undefined : path);
}

export function known(object: JsonObject, keys: ReadonlySet<string>, path: string): void {
  const unknown = Object.keys(object).find((key) => !keys.has(key));
  if (unknown !== undefined) refuse(at(path, unknown), "Extra inputs are not permitted");
}

export function at(path: string, key: string | number): string {
  return path === "" ? String(key) : `${path}.${key}`;
}

export function anObject(value: unknown, path: string): JsonObject {
  if (value === undefined) return refuse(path, "Field required");
  return isObject(value) ? value : refuse(path, "Input should be an object");
}

export function aList(value: unknown, path: string): readonly unknown[] {
  if (value === undefined) return refuse(path, "Field required");
  return Array.isArray(value) ? (value as unknown[]) : refuse(path, "Input should be a valid list");
}

export function aText(object: JsonObject, key: string, path: string): string {
  const value = object[key];
  if (value === undefined) return refuse(at(path, key), "Field required");
  return typeof value === "string" ? value : refuse(at(path, key), "Input should be a valid string");
}

/** A number that may be left out. */
export function within(object: JsonObject, key: string, [low, high]: readonly [number, number], path = ""): void {
  const value = object[key];
  if (value === undefined || value === null) return;
  if (typeof value !== "number") return refuse(at(path, key), "Input should be a valid number");
  if (value < low) return refuse(at(path, key), `Input should be greater than or equal to ${low}`);
  if (value > high) refuse(at(path, key), `Input should be less than or equal to ${high}`);
}

/** The objects of a schema say that nothing else is allowed. Source: Anthropic, "Structured outputs". */
export function checkClosed(schema: unknown, path: string): void {
  if (!isObject(schema)) return;
  if (schema["type"] === "object" && schema["additionalProperties"] !== false) {
    refuse(path, "For 'object' type, 'additionalProperties' must be explicitly set to false");
  }
  for (const key of ["properties", "$defs", "definitions"]) {
    const inner = schema[key];
    if (isObject(inner)) for (const one of Object.values(inner)) checkClosed(one, path);
  }
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const inner = schema[key];
    if (Array.isArray(inner)) for (const one of inner) checkClosed(one, path);
  }
  checkClosed(schema["items"], path);
}
