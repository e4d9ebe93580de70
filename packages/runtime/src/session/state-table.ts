/** States by place; a change takes a copy when somebody holds the list. */
export interface StateTable {
  states(): readonly unknown[];
  put(at: number, state: unknown): void;
  /** The list, which does not change from here on. */
  share(): readonly unknown[];
  replace(states: readonly unknown[]): void;
}

export function stateTable(): StateTable {
  let states: unknown[] = [];
  let shared = false;
  return {
    states: () => states,
    put(at, state) {
      if (at < states.length && states[at] === state) return;
      if (shared) states = [...states];
      shared = false;
      states[at] = state;
    },
    share() {
      shared = true;
      return states;
    },
    replace(given) {
      states = given as unknown[];
      shared = true;
    },
  };
}
