export { leanFetch } from "./lean-fetch.ts";
export type { LeanFetchOptions } from "./lean-fetch.ts";
