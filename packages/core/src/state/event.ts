import { describeValue } from "../values.ts";
import { DefinitionError } from "../errors.ts";
import { nearestName } from "../nearest-name.ts";
import { describeIssues } from "../schema-issues.ts";
import { looseJsonSchemaOf, parseWithSchemaSync, type ObjectSchema, type Schema } from "../schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { OutputOf } from "../types.ts";
import { frameworkEventTypes, isFrameworkEventType, type FrameworkEvent, type ToolInvoked } from "./events.ts";

/**
 * Framework events belong to an evaluation, an application's own do not: `if (event.evaluationId !== undefined)` narrows to
 * the framework's, and `event.type` then to one of them. `isEvent` narrows in one step.
 */
export type SessionEvent = FrameworkEvent | AppEvent;

/** An event of the application, made by a type of `defineEvent`; its payload's fields stand beside `type`. */
export interface AppEvent {
  /** The name of the event's type. */
  readonly type: string;
  /** Only events of the framework have one. */
  readonly evaluationId?: undefined;
}

/** Makes events of one type, and stands for them in reducers, listeners and `isEvent`. */
export interface EventType<Name extends string = string, Payload = unknown> {
  /** @throws {DefinitionError} when the payload does not fit the schema. */
  (payload: Payload): { readonly type: Name } & Readonly<Payload>;
  /** The name of the type. */
  readonly type: Name;
  /** The schema of the payload. */
  readonly schema: Schema<unknown, Payload>;
}

/**
 * An event of the application: what it returns makes events, and picks them out in reducers, listeners and `isEvent`.
 * @example
 * ```ts
 * import { defineEvent } from "@proviso/core";
 * import { createSession } from "@proviso/runtime";
 * import { z } from "zod";
 *
 * const noted = defineEvent("noted", z.object({ text: z.string() }));
 * const session = createSession();
 * session.on(noted, ({ text }) => console.log(text)); // Buy milk.
 * session.dispatch(noted({ text: "Buy milk." }));
 * ```
 * @throws {DefinitionError} when the name is no text, or a framework event's.
 */
export function defineEvent<const Name extends string, S extends ObjectSchema>(
  type: Name,
  schema: S,
): EventType<Name, OutputOf<S>> {
  if (typeof type !== "string") {
    throw new DefinitionError(
      `The type of an event must be a text, defineEvent("noted", schema), not ${describeValue(type)}.`,
    );
  }
  if (type === "" || type === "*" || type.startsWith("tool:") || isFrameworkEventType(type)) {
    throw new DefinitionError(`"${type}" cannot be the name of an application event: the framework uses it.`);
  }
  if (
    "type" in
    ((looseJsonSchemaOf(schema, "output", `The schema of event "${type}"`)["properties"] as object | undefined) ?? {})
  ) {
    throw new DefinitionError(`The payload of event "${type}" cannot have a property "type".`);
  }
  const make = (payload: unknown): object => {
    const result = parseWithSchemaSync(schema, payload, `The event "${type}"`);
    if (!result.ok)
      throw new DefinitionError(
        `The event "${type}" does not fit its schema: ${describeIssues(result.issues, result.unlisted)}.`,
        { issues: result.issues },
      );
    return Object.freeze({ ...result.value, type });
  };
  return Object.freeze(Object.assign(make, { type, schema })) as unknown as EventType<Name, OutputOf<S>>;
}

/**
 * What can be listened to, reduced and picked out: a framework event by name, an application's by its type, a tool's
 * results by the tool.
 */
export type EventFilter = FrameworkEvent["type"] | Pick<EventType, "type" | "schema"> | Tool;

/** The event that a filter lets through. */
export type EventOf<F> = F extends FrameworkEvent["type"]
  ? Extract<FrameworkEvent, { readonly type: F }>
  : F extends EventType<infer Name, infer Payload>
    ? { readonly type: Name } & Readonly<Payload>
    : F extends Tool<infer Input, infer Value>
      ? ToolInvoked<Input, Value>
      : SessionEvent;

/**
 * The key under which reducers and listeners of a filter are kept: an event's type, or "tool:<name>".
 * @throws {DefinitionError} for what is no filter.
 */
export function filterKey(filter: EventFilter): string {
  if (typeof filter === "string") {
    if (!isFrameworkEventType(filter)) throw new DefinitionError(whyNoType(filter));
    return filter;
  }
  const { type, name } = (filter ?? {}) as { readonly type?: unknown; readonly name?: unknown };
  if (typeof type === "string") return type;
  if (typeof filter === "object" && typeof name === "string") return `tool:${name}`;
  throw new DefinitionError(
    `Events are named by a framework event's type, by what defineEvent made or by a tool, not by ${describeValue(filter)}.`,
  );
}

/** A text that is misspelt would never be called, and nothing would show it. */
function whyNoType(given: string): string {
  const nearest = nearestName(given, frameworkEventTypes);
  const meant =
    nearest === undefined
      ? "An application's event is named by what defineEvent returned, the calls of one tool by the tool."
      : `Do you mean "${nearest}"?`;
  return `${describeValue(given)} is no event of the framework. ${meant}`;
}

/** The keys that an event answers to. */
export function eventKeys(event: { readonly type: string }): readonly string[] {
  return event.type === "tool.invoked" ? [event.type, `tool:${(event as ToolInvoked).name}`] : [event.type];
}

/** The type of the events that answer to a key. */
export function typeOfKey(key: string): string {
  return key.startsWith("tool:") ? "tool.invoked" : key;
}

/**
 * `events.filter((e) => isEvent(e, "tool.invoked"))`, `response.toolResults.filter((e) => isEvent(e, readFile))`.
 * @throws {DefinitionError} for what is no filter, a text that is no framework event's type for example.
 */
export function isEvent<F extends EventFilter>(event: unknown, filter: F): event is EventOf<F> {
  const key = filterKey(filter);
  if (typeof event !== "object" || event === null || !("type" in event) || typeof event.type !== "string") return false;
  return eventKeys(event as { readonly type: string }).includes(key);
}
