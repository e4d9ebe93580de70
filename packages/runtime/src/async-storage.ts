import { hostModule } from "@proviso/core/internal";

interface AsyncStorage<T> {
  run<R>(value: T, body: () => R): R;
  getStore(): T | undefined;
}

/**
 * What goes with the running code, wherever it awaits, sets timers or calls other libraries. undefined where the runtime
 * has no AsyncLocalStorage; Node, Bun, Deno and workerd with nodejs_compat have it.
 */
export function asyncStorage<T>(): AsyncStorage<T> | undefined {
  const { AsyncLocalStorage } = hostModule<{ AsyncLocalStorage: new () => AsyncStorage<T> }>("async_hooks") ?? {};
  return AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage();
}
