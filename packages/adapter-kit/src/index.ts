// What adapters of services share, and what the author of another adapter needs.
export { cacheMarks, countMarks, type CacheMarks } from "./cache-marks.ts";
export {
  base64Of,
  chatFiles,
  dataUrlOf,
  kindOfFile,
  labelledText,
  markedParts,
  picturesAndPdf,
  responsesFiles,
  unknownUpload,
  type BytesOf,
} from "./files.ts";
export { countAt, listAt, objectAt, textAt } from "./body.ts";
export type { Json } from "./body.ts";
export {
  ignoredByGemini,
  isRecursiveSchema,
  looseSchema,
  outputSchema,
  parsedOutput,
  toolInputSchema,
  wireName,
} from "./schemas.ts";
export type { OutputSchema, WireSchema } from "./schemas.ts";
export { invalidResponse, longestBody, longestStream, parseBody, unreadableBody } from "./body.ts";
export { environmentVariable } from "@proviso/core/internal";
export { deepestMessage, isNetworkError, isTimeoutError, networkFailure } from "@proviso/runtime/internal";
export { errorObjectFailure } from "./error-object.ts";
export { UnknownItems } from "./unknown-items.ts";
export { errorObjectIn, isErrorObject } from "./error-text.ts";
export { costInUsage, logprobsFrom, reportedCost } from "./reported.ts";
export { commandSecrets, credentialsIn, credentialsInError, headerSecrets } from "./credentials.ts";
export { checkBaseURL, checkModelSettings, defaultStallMs, defaultTimeoutMs, unknownOption } from "./options.ts";
export type { ModelSettings } from "./options.ts";
export { settingsHash } from "./settings-hash.ts";
export { failureRedactor, logOf } from "./showing.ts";
export { isSecret } from "@proviso/runtime/internal";
export { adapterOptionNames, adapterOptionsOf, checkAdapterOptions } from "@proviso/runtime/internal";
export { endsResponse, streamedItems } from "./ends-response.ts";
export { importFailure, requirePackage } from "./optional-package.ts";
export type { OptionalPackage } from "./optional-package.ts";
export { guardRequest } from "./request-guard.ts";
export type { RequestGuard } from "./request-guard.ts";
export { modelFailureFrom, withAddress } from "./http-failure.ts";
export { rateLimitFrom } from "./reported.ts";
