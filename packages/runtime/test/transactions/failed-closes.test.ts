import { provideFactory, resourceKey, type Resources } from "@proviso/core";
import { createSession, createSnapshot, openResources, restoreSnapshot, transaction } from "@proviso/runtime";
import { describe, expect, test } from "vitest";
import { rejection } from "../support.ts";

const key = resourceKey<object>("connection");
const failed = new Error("close failed");
const opening = () =>
  openResources([
    provideFactory(key, () => ({}), {
      close: () => {
        throw failed;
      },
    }),
  ]);

const ways: Record<string, (resources: Resources) => Promise<unknown>> = {
  "a rollback in a body": (resources) =>
    transaction({ session: createSession(), resources }, async (rollback, views) => {
      views.resources.get(key);
      await rollback();
      return "value";
    }),
  "a restore": async (resources) => {
    const scope = { session: createSession(), resources };
    const snapshot = await createSnapshot(scope);
    resources.get(key);
    await restoreSnapshot(scope, snapshot);
    return "value";
  },
  "a restore in a body": async (resources) => {
    const scope = { session: createSession(), resources };
    const snapshot = await createSnapshot(scope);
    resources.get(key);
    return transaction(scope, async () => {
      await restoreSnapshot(scope, snapshot);
      return "value";
    });
  },
};

describe.each(Object.entries(ways))("TX-9 RES-11 a close that fails after %s", (_, restore) => {
  test("fails nothing that was restored, and closing the scope rejects with it", async () => {
    const resources = await opening();
    expect(await restore(resources)).toBe("value");
    const error = await rejection(Promise.resolve(resources[Symbol.asyncDispose]()));
    expect(error).toBeInstanceOf(AggregateError);
    expect(error["errors"]).toEqual([failed]);
  });
});

test("TX-9 RES-11 closing the scope rejects with the failed close of a resource that came after the rollback", async () => {
  const made = Promise.withResolvers<object>();
  const resources = await openResources([
    provideFactory(key, () => made.promise, {
      close: () => {
        throw failed;
      },
    }),
  ]);
  await transaction({ session: createSession(), resources }, async (rollback, views) => {
    views.resources.open(key).catch(() => {});
    await rollback();
  });
  made.resolve({});
  await new Promise((resolve) => setImmediate(resolve));
  const error = await rejection(Promise.resolve(resources[Symbol.asyncDispose]()));
  expect(error["errors"]).toEqual([failed]);
});
