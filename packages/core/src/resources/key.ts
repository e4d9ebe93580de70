declare const resource: unique symbol;

/** Names a resource and its type; made by `resourceKey`. */
export interface ResourceKey<out T> {
  readonly name: string;
  readonly [resource]: T;
}

/** A name with a type; two keys of one name are two keys. */
export function resourceKey<T>(name: string): ResourceKey<T> {
  return Object.freeze({ name }) as ResourceKey<T>;
}
