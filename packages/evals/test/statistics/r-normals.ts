import { ndtri } from "cephes";

/**
 * Normal numbers as R's `rnorm` draws them after `set.seed(seed)`: Mersenne Twister, by inversion. Source: R's manual, "Random
 * Number Generation"; Matsumoto and Nishimura, "Mersenne Twister" (1998).
 */
export function normalsOfR(seed: number): (count: number) => readonly number[] {
  const words = new Uint32Array(624);
  let scrambled = seed >>> 0;
  const step = (): number => (scrambled = (Math.imul(69069, scrambled) + 1) >>> 0);
  // 50 steps are thrown away, and one is where R keeps its place among the words.
  for (let at = 0; at < 51; at++) step();
  for (let at = 0; at < words.length; at++) words[at] = step();
  let next = words.length;
  const uniform = (): number => {
    if (next === words.length) {
      for (let at = 0; at < words.length; at++) {
        const word = (words[at]! & 0x80000000) | (words[(at + 1) % 624]! & 0x7fffffff);
        words[at] = words[(at + 397) % 624]! ^ (word >>> 1) ^ ((word & 1) === 0 ? 0 : 0x9908b0df);
      }
      next = 0;
    }
    let word = words[next++]!;
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    word ^= word >>> 18;
    return (word >>> 0) / 2 ** 32;
  };
  const large = 2 ** 27;
  const normal = (): number => ndtri((Math.floor(large * uniform()) + uniform()) / large);
  return (count) => Array.from({ length: count }, normal);
}
