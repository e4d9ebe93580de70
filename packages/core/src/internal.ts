// What Proviso's own packages share of core. It is not for users: names here change without notice.
export { acrossCopies } from "./across-copies.ts";
export type { EvaluationPhase } from "./failure-kinds.ts";
export type { RestoreFault } from "./transaction-errors.ts";
export { cleanName, isPlatformFile, labelOf } from "./content/file.ts";
export { keepBytes, keptBytes } from "./content/kept-bytes.ts";
export {
  after,
  allOf,
  atOnce,
  describeValue,
  isA,
  isNonNullObject,
  isObjectOrFunction,
  isPlain,
  isThenable,
  messageOf,
} from "./values.ts";
export { textFinder } from "./find-text.ts";
export { checkedId } from "./checked-id.ts";
export { checkList } from "./lists.ts";
export { environmentVariable, hostModule } from "./host-module.ts";
export { givenTool } from "./tool/check-tool.ts";
export { nearestName } from "./nearest-name.ts";
export { escapedAsJson, escapeUnseen, printable, replaceUnseen } from "./unseen.ts";
export { frozenJson, isForbiddenKey, isOutOfStack, plainCopy, toJsonValue, tooDeep } from "./json.ts";
export { parseOwnJson, whyNoJson, withoutExcerpts } from "./json.ts";
export { canonicalJson, contentHash, shortHash } from "./canonical-json.ts";
export { hostSha256, ownSha256, sha256 } from "./sha256.ts";
export { asJson, oddInJson } from "./odd-in-json.ts";
export { containerOf, jsonSchemaOf, parseWithSchema, parseWithSchemaSync } from "./schema.ts";
export { describeIssues } from "./schema-issues.ts";
export type { SchemaResult } from "./schema.ts";
export { sentSchemaOf } from "./schema.ts";
export { builtInTools } from "./prompt/compile.ts";
export { cannotOpen } from "./prompt/disclosure/disclosure-tools.ts";
export type { PromptDescriptor } from "./prompt/descriptor.ts";
export { wrappedSchema, wrapperKey } from "./prompt/output.ts";
export type { OutputSpec } from "./prompt/output.ts";
export { checkOverride, checkOverrideTexts, checkTag } from "./prompt/overrides.ts";
export { paramsIn, parseText } from "./prompt/placeholders.ts";
export { plainSchema } from "./prompt/plain-schema.ts";
export { RenderFault } from "./prompt/render-fault.ts";
export { boundAgain, givenParams, schemasOf, sectionsIn } from "./prompt/template.ts";
export { emptyQuestion } from "./prompt/empty-question.ts";
export { textPrompt } from "./prompt/text-prompt.ts";
export { openedSections } from "./prompt/disclosure/visibility.ts";
export { checkCompletion } from "./tool/completion.ts";
export type { ReturnedResult } from "./tool/result.ts";
export { restoredResult, returnedResult } from "./tool/result.ts";
export { eventKeys, typeOfKey, filterKey } from "./state/event.ts";
export { CallEnds } from "./state/call-ends.ts";
export { StandingWork, type Work } from "./state/standing-work.ts";
export { isFrameworkEventType } from "./state/events.ts";
export { ofEvaluation, surround, usedEvents } from "./state/own-observer.ts";
export type { EachObserver, SparingObserver, SurroundingObserver } from "./state/own-observer.ts";
export { frozenInDepth, frozenState, pathText } from "./state/frozen.ts";
export { isGuardable } from "./resources/guard.ts";
export { firstChanges } from "./resources/first-changes.ts";
export type { BudgetAmounts, BudgetReservation } from "./limits/budget.ts";
export { setAlarm, pausesOf } from "./limits/clock.ts";
export { isDeadline } from "./limits/clock.ts";
export { SpentByRun } from "./limits/spent.ts";
export { addUsage, countUsage, noUsage, unpricedTokensOf } from "./limits/usage.ts";
export { completedMessages } from "./provider/message.ts";
export { finishReasonIn } from "./provider/model.ts";
export { stepOfAnswer } from "./provider/step-of-answer.ts";
