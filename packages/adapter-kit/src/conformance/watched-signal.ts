/** Counts the listeners on a signal, without Node's own means. */
export function watchedSignal(signal: AbortSignal): { readonly signal: AbortSignal; listeners(): number } {
  const held = new Set<unknown>();
  const add = signal.addEventListener.bind(signal) as (...given: unknown[]) => void;
  const remove = signal.removeEventListener.bind(signal) as (...given: unknown[]) => void;
  Object.assign(signal, {
    addEventListener: (...given: unknown[]) => {
      held.add(given[1]);
      add(...given);
    },
    removeEventListener: (...given: unknown[]) => {
      held.delete(given[1]);
      remove(...given);
    },
  });
  return { signal, listeners: () => held.size };
}
