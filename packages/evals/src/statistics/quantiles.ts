// Programs that compile this source by its path find the declarations by this line alone.
// oxlint-disable-next-line typescript/triple-slash-reference
/// <reference path="./cephes.d.ts" />
import { compiled, incbi, ndtr, ndtri } from "cephes";

// The functions are WebAssembly. An import of this module waits until they are compiled, so that they
// can be called without a promise.
await compiled;

/** The share of a standard normal distribution that lies above `z`. */
export function normalTail(z: number): number {
  return ndtr(-z);
}

/** The z that `share` of a standard normal distribution lies above; infinite when no share is left. */
export function normalCritical(share: number): number {
  return share > 0 ? -ndtri(share) : Number.POSITIVE_INFINITY;
}

/**
 * The t that `error` of Student's distribution lies outside ±t of. For few degrees of freedom it is the quantile of the beta
 * distribution. For many, that quantile of cephes is wrong far out, where early looks are, and its t quantile is, too; then
 * it is Fisher's expansion around the normal quantile (Abramowitz and Stegun, 26.7.5).
 */
export function studentCritical(error: number, degrees: number): number {
  if (error <= 0) return Number.POSITIVE_INFINITY;
  if (degrees < manyDegrees) return Math.sqrt(degrees * (1 / incbi(degrees / 2, 0.5, error) - 1));
  const z = normalCritical(error / 2);
  const square = z * z;
  const terms = [
    (square + 1) / 4,
    ((5 * square + 16) * square + 3) / 96,
    (((3 * square + 19) * square + 17) * square - 15) / 384,
    ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92_160,
  ];
  return z * (1 + terms.reduceRight((sum, term) => (sum + term) / degrees, 0));
}

/** The expansion is used from here on. It is right to 10 digits at usual levels, and to 3 digits of the error at 1e-30. */
const manyDegrees = 200;
