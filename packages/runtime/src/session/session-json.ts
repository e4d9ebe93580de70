import { DefinitionError, type Session, type Slice } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { describeIssues, oddInJson, parseWithSchemaSync, pathText } from "@proviso/core/internal";

/** A session as JSON. A newer version is refused; an older one will be read as long as it can be. */
export const sessionFormat = "proviso.session";
const version = 1;
/** Each event takes the next: from there on two would share one. */
const largestSeq = 2 ** 52;
interface SavedSlice {
  readonly name: string;
  readonly kind: Slice["kind"];
  /** The state as JSON; a state of undefined is left out. */
  readonly state?: unknown;
}

/** What a session's JSON says, checked but for the slices' own schemas. */
export interface SavedSession {
  readonly id: string;
  readonly seq: number;
  readonly slices: readonly SavedSlice[];
}

/** @throws {DefinitionError} for a state that could not be read again, with its slice and path. */
export function sessionJson(session: {
  readonly id: string;
  readonly seq: number;
  readonly slices: readonly Slice[];
  get(slice: Slice): unknown;
}): ReturnType<Session["toJSON"]> {
  const slices = session.slices.map((slice): SavedSlice => {
    const { name, kind } = slice;
    const state = session.get(slice);
    const odd = oddInJson(state);
    if (odd !== undefined) {
      const where = odd.path.length === 0 ? "it" : pathText("", odd.path);
      throw unsavable(name, `${where} ${odd.problem}. Keep plain JSON in it`);
    }
    const misfit = misfitOf(slice, state);
    if (misfit !== undefined) {
      const what = "Its reducers made a state that its schema does not accept";
      throw unsavable(name, `${misfit}. ${what}: change one of them (an event has its "type" beside its data)`);
    }
    return state === undefined ? { name, kind } : { name, kind, state };
  });
  return { format: sessionFormat, version, id: session.id, seq: session.seq, slices };
}

/** Makes the error of a state that could not be read again. */
export function unsavable(slice: string, why: string): DefinitionError {
  return new DefinitionError(`The state of slice "${slice}" cannot be saved: ${why}.`);
}

/** Why the slice's schema does not accept a state; undefined where it does. */
export function misfitOf({ schema, name }: Slice, state: unknown): string | undefined {
  if (schema === undefined) return undefined;
  const result = parseWithSchemaSync(schema, state, `The state of slice "${name}"`);
  return result.ok ? undefined : describeIssues(result.issues, result.unlisted);
}

/** @throws {DefinitionError} for JSON that is damaged, foreign or newer, with the path of the fault. */
export function parseSession(json: unknown, slices: readonly Slice[]): SavedSession {
  if (typeof json === "string") throw fault("", "is a text: give what JSON.parse makes of it");
  if (!isRecord(json) || json["format"] !== sessionFormat)
    throw fault("", `is not a session: format must be "${sessionFormat}"`);
  if (json["version"] !== version) throw versionFault(json["version"]);
  assertKeys(json, ["format", "version", "id", "seq", "slices"], "");
  const { id, seq, slices: saved } = json;
  if (typeof id !== "string" || id === "") throw fault("id", "must be a text");
  if (!Number.isSafeInteger(seq) || (seq as number) < 0) throw fault("seq", "must be a whole number from 0");
  if ((seq as number) > largestSeq) throw fault("seq", `must be at most ${largestSeq}`);
  if (!Array.isArray(saved)) throw fault("slices", "must be a list");
  const names = new Set<string>();
  // Not `map`: it would pass over a hole.
  const parsed = Array.from(saved, (slice: unknown, index): SavedSlice => {
    const read = parseSlice(slice, `slices[${index}]`, slices);
    if (names.has(read.name)) throw fault(`slices[${index}].name`, `is there twice: "${read.name}"`);
    names.add(read.name);
    return read;
  });
  return { id, seq: seq as number, slices: parsed };
}

/** Whether it is a session's JSON that a newer release saved. */
export function isNewerSession(json: unknown): boolean {
  return isRecord(json) && json["format"] === sessionFormat && isNewer(json["version"]);
}

function parseSlice(saved: unknown, path: string, slices: readonly Slice[]): SavedSlice {
  if (!isRecord(saved)) throw fault(path, "must be an object");
  assertKeys(saved, ["name", "kind", "state"], path);
  const slice = slices.find(({ name }) => name === saved["name"]);
  if (slice === undefined) throw fault(`${path}.name`, `names an unknown slice: ${shown(saved["name"])}`);
  const { name, kind } = slice;
  if (saved["kind"] !== kind) throw fault(`${path}.kind`, `must be "${kind}"`);
  const odd = oddInJson(saved["state"]);
  if (odd !== undefined) throw fault(pathText(`${path}.state`, odd.path), odd.problem);
  // The session's own from here on: what was given stays the caller's, and unfrozen.
  const state = fittingState(slice, structuredClone(saved["state"]), `${path}.state`);
  return state === undefined ? { name, kind } : { name, kind, state };
}

/** The schema decides. Without one a state has to be what the initial state is: a list, an object, or neither. */
function fittingState({ kind, initial, schema, name }: Slice, state: unknown, path: string): unknown {
  if (state === undefined && initial !== undefined && schema === undefined) throw fault(path, "is missing");
  const listed = Array.isArray(initial) && (kind === "log" || schema === undefined);
  if (listed && !Array.isArray(state)) throw fault(path, "must be a list");
  if (schema !== undefined) {
    const result = parseWithSchemaSync(schema, state, `The state of slice "${name}"`);
    if (!result.ok) throw fault(path, `does not fit the slice: ${describeIssues(result.issues, result.unlisted)}`);
    return result.value;
  }
  if (isRecord(initial) && !isRecord(state) && state !== null) throw fault(path, "must be an object");
  return state;
}

function assertKeys(record: Readonly<Record<string, unknown>>, known: readonly string[], path: string): void {
  const unknown = Reflect.ownKeys(record).find((key) => !known.includes(key as string));
  if (unknown !== undefined) throw fault(pathText(path, [unknown]), "is not known");
}

function isNewer(found: unknown): boolean {
  return typeof found === "number" && found > version;
}

function versionFault(found: unknown): DefinitionError {
  const what = isNewer(found) ? "; it was saved by a newer release of this framework" : "";
  return fault("version", `must be ${version}, not ${shown(found)}${what}`);
}

function fault(path: string, problem: string): DefinitionError {
  return new DefinitionError(`This is not a session's JSON: ${path === "" ? "it" : path} ${problem}.`);
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? String(value) : `of type ${value === null ? "null" : typeof value}`;
}
