/** Numbers from a seed. Source: Tommy Ettinger's mulberry32, public domain. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** From 0 to below `below`. */
  int(below: number): number;
  chance(share: number): boolean;
  pick<T>(from: readonly T[]): T;
}

export function randomFrom(seed: number): Random {
  let state = (seed * 2_654_435_761) >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  return { next, int, chance: (share) => next() < share, pick: (from) => from[int(from.length)] as never };
}
