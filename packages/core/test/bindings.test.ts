import { describe, expect, test } from "vitest";
import { isSnapshotable, provide, provideFactory, resourceKey, type Binding, type Resources } from "@proviso/core";

const key = resourceKey<object>("thing");
const closed = async (binding: Binding<object>, instance: object): Promise<void> => {
  await binding.close?.(instance as never);
};

describe("bindings", () => {
  test("a ready instance is a singleton that is never closed", () => {
    const instance = {};
    const binding = provide(key, instance);
    expect(binding).toMatchObject({ key, scope: "singleton", eager: false, close: undefined });
    expect(binding.create({} as Resources)).toBe(instance);
    expect(Object.isFrozen(binding)).toBe(true);
  });

  test("a factory is a lazy singleton by default", () => {
    expect(provideFactory(key, () => ({}))).toMatchObject({ scope: "singleton", eager: false });
    expect(provideFactory(key, () => ({}), { scope: "toolCall", eager: true })).toMatchObject({
      scope: "toolCall",
      eager: true,
    });
  });

  test("what a factory made is closed by close, else by asyncDispose, else by dispose", async () => {
    const log: string[] = [];
    const sync = { [Symbol.dispose]: () => void log.push("dispose") };
    const both = { ...sync, [Symbol.asyncDispose]: async () => void log.push("asyncDispose") };
    const plain = provideFactory(key, () => ({}));
    await closed(plain, both);
    await closed(plain, sync);
    await closed(plain, {});
    await closed(
      provideFactory(key, () => ({}), { close: () => void log.push("close") }),
      both,
    );
    expect(log).toEqual(["asyncDispose", "dispose", "close"]);
  });

  test("two keys of one name are two keys", () => {
    expect(resourceKey("thing")).not.toBe(key);
    expect(Object.isFrozen(key)).toBe(true);
  });
});

describe("snapshotable resources", () => {
  test("whatever has snapshot and restore takes part", () => {
    const functions = { snapshot() {}, restore() {} };
    expect(isSnapshotable(functions)).toBe(true);
    expect(isSnapshotable(Object.create(functions))).toBe(true);
    for (const value of [undefined, null, 1, {}, { snapshot() {} }, { snapshot: 1, restore: 1 }]) {
      expect(isSnapshotable(value)).toBe(false);
    }
  });
});
