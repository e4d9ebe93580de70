export interface InOrder {
  /** Begins when all that was asked for before has ended, well or not. */
  run<T>(work: () => Promise<T>): Promise<T>;
  isIdle(): boolean;
}

export function inOrder(): InOrder {
  let last: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  return {
    run(work) {
      waiting++;
      const result = last.then(work).finally(() => void waiting--);
      last = result.catch(() => {});
      return result;
    },
    isIdle: () => waiting === 0,
  };
}
