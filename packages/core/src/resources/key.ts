import { DefinitionError } from "../errors.ts";
import { describeValue } from "../values.ts";

declare const resource: unique symbol;

/** Names a resource and its type; made by `resourceKey`. */
export interface ResourceKey<out T> {
  /** The name of the resource, for errors. */
  readonly name: string;
  readonly [resource]: T;
}

/**
 * A name with a type; two keys of one name are two keys.
 * @example
 * ```ts
 * import { provide, resourceKey } from "@proviso/core";
 * import { openResources } from "@proviso/runtime";
 *
 * const Counter = resourceKey<{ next(): number }>("Counter");
 * let count = 0;
 * await using resources = await openResources([provide(Counter, { next: () => (count += 1) })]);
 * console.log(resources.get(Counter).next()); // 1
 * ```
 * @throws {DefinitionError} when the name is no text.
 */
export function resourceKey<T>(name: string): ResourceKey<T> {
  if (typeof name !== "string") {
    throw new DefinitionError(
      `The name of a resource must be a text, resourceKey("Stock"), not ${describeValue(name)}.`,
    );
  }
  return Object.freeze({ name }) as ResourceKey<T>;
}
