export { paced, sharedPacing } from "./paced.ts";
export { sharedPace } from "./pace.ts";
export type { PaceOptions } from "./pace.ts";
