// What the repository's own packages share of the kernel. It is not for users: names here change without notice.
export { untilAborted } from "./abort.ts";
export { internalsOf } from "./nested/adapter-internals.ts";
export type { AdapterFacts, AdapterInternals } from "./nested/adapter-internals.ts";
export { adapterOptionNames, adapterOptionsOf, checkAdapterOptions } from "./adapter-options.ts";
export { trackerOf } from "./budgets.ts";
export { environmentNames, systemId } from "./environment.ts";
export { runInnerLoop, toolSpecs } from "./inner-loop.ts";
export { hiddenField } from "./hidden-field.ts";
export { logSafely } from "./logging.ts";
export { closingBracket } from "./output/brackets.ts";
export { answerLimits } from "./output/extract.ts";
export { namedValue } from "./tools/result.ts";
export { parseOverride } from "./overrides.ts";
export { pricesOf } from "./prices.ts";
export type { Pricing } from "./prices.ts";
export { deepestMessage, isNetworkError, isTimeoutError, networkFailure } from "./request/network-error.ts";
export { addressesIn, shownAddress, withShownAddresses } from "./request/shown-address.ts";
export { boundNumbers, costNumbers, longestStopMs, meterNumbers, shareNumbers } from "./routing/pace-numbers.ts";
export { differences } from "./resources/differences.ts";
export type { ComparedTrees } from "./resources/differences.ts";
export { globMatcher } from "./resources/glob.ts";
export { guardable, guardedBy } from "./resources/guard.ts";
export { callOf } from "./resources/held-guard.ts";
export {
  deepest,
  isName,
  isReserved,
  notADirectory,
  notAFile,
  notFound,
  pathNames,
  reservedName,
  storedNames,
} from "./resources/paths.ts";
export { decodeText, grepFiles, readLines, selectLines } from "./resources/reading.ts";
export type { SearchedFile } from "./resources/reading.ts";
export { isSecret, openSecrets } from "./secrets.ts";
export type { Secrets } from "./secrets.ts";
export { beginningOf, endOf } from "./secrets/cut.ts";
export type { UncutSecrets } from "./secrets/cut.ts";
export { committedWith } from "./transactions/committed-with.ts";
export type { CommittedWith } from "./transactions/committed-with.ts";
export { redactionOf } from "./secrets/structure.ts";
export { coreOf, joinSlices } from "./session/session-core.ts";
export type { SessionCore } from "./session/session-core.ts";
export type { SessionMark } from "./session/concurrent-changes.ts";
export { atEvaluationEnd, evaluationOf, secretsOf } from "./tools/running.ts";
export { turnsBefore } from "./turns-before.ts";
export { charactersOf, tokensBeside, tokensOf } from "./tokens.ts";
export { tokensOfFile } from "./tokens.ts";
export { hashOf } from "./content/hash.ts";
export { claimedType, mediaTypeOf, typeFrom } from "./content/media-type.ts";
export { checkMaxBytes, sweepBounds } from "./content/sweep.ts";
