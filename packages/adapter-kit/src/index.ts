// What adapters of services share, and what the author of another adapter needs.
export { listAt, objectAt, textAt } from "./fields.ts";
export type { Json } from "./fields.ts";
export { outputSchema, parsedOutput, toolInputSchema, wireName } from "./schemas.ts";
export type { OutputSchema, WireSchema } from "./schemas.ts";
export { invalidResponse, longestBody, parseBody, unreadableBody } from "./body.ts";
export { deepestMessage, isNetworkError, isTimeoutError, networkFailure, withAddress } from "@proviso/runtime/internal";
export { errorObjectFailure } from "./error-object.ts";
export { errorObjectIn } from "./error-text.ts";
export { costInUsage, reportedCost } from "./cost.ts";
export { credentialsIn, headerSecrets } from "./credentials.ts";
export { checkBaseURL, checkModelSettings, defaultStallMs, defaultTimeoutMs, environmentVariable } from "./options.ts";
export type { ModelSettings } from "./options.ts";
export { failureRedactor, logOf } from "./showing.ts";
export { isSecret } from "@proviso/runtime/internal";
export { adapterOptionNames, adapterOptionsOf, checkAdapterOptions } from "@proviso/runtime/internal";
export { guardRequest } from "./request-guard.ts";
export type { RequestGuard } from "./request-guard.ts";
export { modelFailureFrom } from "./http-failure.ts";
