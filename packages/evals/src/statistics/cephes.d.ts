// `cephes` 3.3.3 names its declarations for `require` alone, so an import does not find them. The functions that are used:
declare module "cephes" {
  /** Resolves when the functions can be called. */
  export const compiled: Promise<void>;
  /** The cumulative distribution of the standard normal. */
  export function ndtr(x: number): number;
  /** The quantile of the standard normal. */
  export function ndtri(p: number): number;
  /** The quantile of the beta distribution. */
  export function incbi(a: number, b: number, p: number): number;
}
