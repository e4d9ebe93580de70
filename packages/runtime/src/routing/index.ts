export type { BreakerOptions } from "./breaker.ts";
export { fallback } from "./fallback.ts";
export type { FallbackOptions } from "./fallback.ts";
export type { FallbackReason } from "./member.ts";
export { cheapestFirst, fastestFirst } from "./orders.ts";
export type { RouteCandidate, RouteOrder } from "./orders.ts";
export { paced, sharedPacing } from "./paced.ts";
export { sharedPace } from "./pace.ts";
export type { PaceOptions } from "./pace.ts";
