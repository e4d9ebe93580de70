/** What nobody can look at. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** It throws as soon as it is read. */
export function trapped(id: string): object {
  return {
    id,
    get more(): never {
      throw new Error("do not look");
    },
  };
}

/** The same object, but each of its fields can be read once; the same for the objects in it that are named. */
export function readableOnce<T extends object>(value: T, inside: readonly string[]): T {
  const read = new Set<PropertyKey>();
  return new Proxy(value, {
    get(target, key) {
      if (read.has(key)) throw new Error(`${String(key)} is read twice`);
      read.add(key);
      const item: unknown = Reflect.get(target, key);
      return inside.includes(String(key)) && typeof item === "object" && item !== null ? readableOnce(item, []) : item;
    },
  });
}
