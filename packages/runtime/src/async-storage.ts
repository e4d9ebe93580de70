interface AsyncStorage<T> {
  run<R>(value: T, body: () => R): R;
  getStore(): T | undefined;
}
interface HostProcess {
  getBuiltinModule?(name: string): { readonly AsyncLocalStorage?: new <T>() => AsyncStorage<T> } | undefined;
}

/**
 * What goes with the running code, wherever it awaits, sets timers or calls other libraries. undefined where the runtime
 * has no AsyncLocalStorage; Node, Bun, Deno and workerd with nodejs_compat have it.
 */
export function asyncStorage<T>(): AsyncStorage<T> | undefined {
  // Looked up and not imported, so that this package loads where there is no such module.
  const host = (globalThis as { readonly process?: HostProcess }).process;
  const AsyncLocalStorage = host?.getBuiltinModule?.("async_hooks")?.AsyncLocalStorage;
  return AsyncLocalStorage === undefined ? undefined : new AsyncLocalStorage<T>();
}
