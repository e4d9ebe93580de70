import { DefinitionError, describeIssues, parseWithSchemaSync, type Session, type Slice } from "@proviso/core";
import { isRecord } from "../json.ts";

/** A session as JSON. A newer version is refused; an older one will be read as long as it can be. */
const format = "proviso.session";
const version = 1;
/** Levels of a state. */
const deepest = 200;
const forbiddenKeys = new Set(["__proto__", "constructor", "prototype"]);

interface SavedSlice {
  readonly name: string;
  readonly kind: Slice["kind"];
  /** Left out: undefined. */
  readonly state?: unknown;
}

/** What a session's JSON says, checked but for the slices' own schemas. */
export interface SavedSession {
  readonly id: string;
  readonly seq: number;
  readonly slices: readonly SavedSlice[];
}

/** @throws {DefinitionError} for a state that is not plain JSON, with its slice and path. */
export function sessionJson(session: {
  readonly id: string;
  readonly seq: number;
  readonly slices: readonly Slice[];
  get(slice: Slice): unknown;
}): ReturnType<Session["toJSON"]> {
  const slices = session.slices.map((slice): SavedSlice => {
    const { name, kind } = slice;
    const state = session.get(slice);
    const fault = findOdd(state, "", 0);
    if (fault !== undefined) {
      throw new DefinitionError(`The state of slice "${name}" cannot be saved: ${fault}. Keep plain JSON in it.`);
    }
    return state === undefined ? { name, kind } : { name, kind, state };
  });
  return { format, version, id: session.id, seq: session.seq, slices };
}

/** @throws {DefinitionError} for JSON that is damaged, foreign or newer, with the path of the fault. */
export function parseSession(json: unknown, slices: readonly Slice[]): SavedSession {
  if (typeof json === "string") throw fault("", "is a text: give what JSON.parse makes of it");
  if (!isRecord(json) || json["format"] !== format) throw fault("", `is not a session: format must be "${format}"`);
  if (json["version"] !== version) throw fault("version", `must be ${version}, not ${String(json["version"])}`);
  const { id, seq, slices: saved } = json;
  if (typeof id !== "string" || id === "") throw fault("id", "must be a text");
  if (!Number.isSafeInteger(seq) || (seq as number) < 0) throw fault("seq", "must be a whole number from 0");
  if (!Array.isArray(saved)) throw fault("slices", "must be a list");
  const names = new Set<string>();
  const parsed = saved.map((slice: unknown, index): SavedSlice => {
    const read = parseSlice(slice, `slices[${index}]`, slices);
    if (names.has(read.name)) throw fault(`slices[${index}].name`, `is there twice: "${read.name}"`);
    names.add(read.name);
    return read;
  });
  return { id, seq: seq as number, slices: parsed };
}

function parseSlice(saved: unknown, path: string, slices: readonly Slice[]): SavedSlice {
  if (!isRecord(saved)) throw fault(path, "must be an object");
  const unknown = Object.keys(saved).find((key) => !["name", "kind", "state"].includes(key));
  if (unknown !== undefined) throw fault(`${path}.${unknown}`, "is not known");
  const { name, kind, state } = saved;
  const slice = slices.find((known) => known.name === name);
  if (slice === undefined) throw fault(`${path}.name`, `names an unknown slice: ${JSON.stringify(name)}`);
  if (kind !== slice.kind) throw fault(`${path}.kind`, `must be "${slice.kind}"`);
  const odd = findOdd(state, `${path}.state`, 0);
  if (odd !== undefined) throw fault("", odd);
  if (slice.kind === "log" && Array.isArray(slice.initial) && !Array.isArray(state)) {
    throw fault(`${path}.state`, "must be a list");
  }
  if (slice.schema !== undefined) {
    const result = parseWithSchemaSync(slice.schema, state);
    if (!result.ok) throw fault(`${path}.state`, `does not fit the slice: ${describeIssues(result.issues)}`);
    return { name: slice.name, kind: slice.kind, state: result.value };
  }
  if (state === undefined && slice.initial !== undefined) throw fault(`${path}.state`, "is missing");
  return state === undefined ? { name: slice.name, kind: slice.kind } : { name: slice.name, kind: slice.kind, state };
}

function fault(path: string, problem: string): DefinitionError {
  return new DefinitionError(`This is not a session's JSON: ${path === "" ? "it" : path} ${problem}.`);
}

/** What JSON could not carry there and back; undefined: nothing. */
function findOdd(value: unknown, path: string, depth: number): string | undefined {
  if (value === null || ["string", "boolean", "undefined"].includes(typeof value)) return undefined;
  const here = path === "" ? "it" : path;
  if (typeof value === "number") return Number.isFinite(value) ? undefined : `${here} is ${value}`;
  if (typeof value !== "object") return `${here} is a ${typeof value}`;
  if (depth > deepest) return `${here} lies deeper than ${deepest} levels`;
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const odd = item === undefined ? `${path}[${index}] is undefined` : findOdd(item, `${path}[${index}]`, depth + 1);
      if (odd !== undefined) return odd;
    }
    return undefined;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    return `${here} is a ${(value.constructor as { readonly name?: string } | undefined)?.name ?? "special object"}`;
  }
  for (const key of Object.keys(value)) {
    const inner = path === "" ? key : `${path}.${key}`;
    if (forbiddenKeys.has(key)) return `the key ${inner} is not allowed`;
    const odd = findOdd((value as Record<string, unknown>)[key], inner, depth + 1);
    if (odd !== undefined) return odd;
  }
  return undefined;
}
