export { BudgetExceededError } from "./budget-error.ts";
export type { BudgetState } from "./budget-error.ts";
export { errorReason } from "./error-reason.ts";
export type { ErrorReason } from "./error-reason.ts";
export {
  AbortedError,
  DeadlineExceededError,
  DefinitionError,
  isEvaluationFailure,
  ListenerError,
  NotSupportedError,
  OptionError,
  OutputParseError,
  ProcessError,
  PromptEvaluationError,
  PromptRenderError,
  ProviderError,
  ProvisoError,
  RevokedError,
  ThrottleError,
  TurnLimitError,
  VisibilityExpansionRequired,
} from "./errors.ts";
export type {
  EvaluationDetails,
  EvaluationFailure,
  EvaluationPhase,
  ProviderErrorReason,
  ThrottleKind,
} from "./errors.ts";
export { InternalError } from "./internal-error.ts";
export { FilesystemError } from "./filesystem-error.ts";
export type { FilesystemFault } from "./filesystem-error.ts";
export { DeadlockError, RestoreError, UnusableError } from "./transaction-errors.ts";
export type { RestoreFault } from "./transaction-errors.ts";
export { describeValue } from "./describe-value.ts";
export { textFinder } from "./find-text.ts";
export { isRecord } from "./is-record.ts";
export { isThenable } from "./thenable.ts";
export { canonicalJson, contentHash, frozenJson, isForbiddenKey, parseJson, toJsonValue, whyNoJson } from "./json.ts";
export type { JsonLimits, JsonResult } from "./json.ts";
export { checkOptionNames } from "./option-names.ts";
export type { OptionNames } from "./option-names.ts";
export { asJson, oddInJson } from "./odd-in-json.ts";
export type { OddInJson } from "./odd-in-json.ts";
export { describeIssues, jsonSchemaOf, parseWithSchema, parseWithSchemaSync, validateWithSchema } from "./schema.ts";
export type { JsonSchema, ObjectSchema, Schema, SchemaIssue, SchemaResult } from "./schema.ts";
export { sentSchemaOf } from "./sent-schema.ts";
export { strictSchema } from "./strict-schema.ts";
export type { StrictSchema } from "./strict-schema.ts";
export type { InputOf, OutputOf, ParamsOf } from "./types.ts";

export { builtInTools } from "./prompt/compile.ts";
export { cannotOpen } from "./prompt/disclosure.ts";
export type { SummarisedSection } from "./prompt/disclosure.ts";
export type { PromptDescriptor } from "./prompt/descriptor.ts";
export type { TaskExample } from "./prompt/examples.ts";
export { wrappedSchema, wrapperKey } from "./prompt/output.ts";
export type { OutputSpec } from "./prompt/output.ts";
export { checkOverride, checkOverrideTexts, checkTag } from "./prompt/overrides.ts";
export type { AppliedOverride, OverridesStore, PromptOverride } from "./prompt/overrides.ts";
export type {
  CheckedText,
  UnknownPlaceholder,
  UnknownProperty,
  UnprintablePlaceholder,
} from "./prompt/placeholders.ts";
export { RenderFault } from "./prompt/render.ts";
export { defineSection } from "./prompt/section.ts";
export type { CheckedSections, Section, SectionDefinition } from "./prompt/section.ts";
export { definePrompt, overrideOf, sectionsIn } from "./prompt/template.ts";
export type { Prompt, PromptDefinition, PromptTemplate, RenderedPrompt, RenderOptions } from "./prompt/template.ts";
export { textPrompt } from "./prompt/text-prompt.ts";
export { openedSections } from "./prompt/visibility.ts";
export type { OpenedSections, Visibility } from "./prompt/visibility.ts";

export type { CompletionChecker } from "./tool/completion.ts";
export type { FeedbackProvider } from "./tool/feedback.ts";
export { allow, definePolicy, deny } from "./tool/policy.ts";
export type { ApprovalContext, PolicyCall, PolicyDecision, ToolPolicy } from "./tool/policy.ts";
export { returnedResult, toolError, toolOk } from "./tool/result.ts";
export type { ToolResult, ToolReturn } from "./tool/result.ts";
export { defineTool } from "./tool/tool.ts";
export type { ContextFor, NestedOptions, Tool, ToolContext, ToolDefinition } from "./tool/tool.ts";

export { defineEvent, eventKeys, filterKey, isEvent } from "./state/event.ts";
export type { AppEvent, EventFilter, EventOf, EventType, SessionEvent } from "./state/event.ts";
export { isFrameworkEventType } from "./state/events.ts";
export type {
  FeedbackGiven,
  FrameworkEvent,
  OutputDelta,
  PromptExecuted,
  PromptFailed,
  PromptRendered,
  ProviderRequested,
  ProviderResponded,
  ProviderThrottled,
  RejectedParams,
  SectionsOpened,
  TextDelta,
  TextReset,
  ToolInvoked,
  ToolRequested,
  TransactionFailed,
} from "./state/events.ts";
export { frozenInDepth, frozenState, pathText } from "./state/frozen.ts";
export type { DispatchResult, Session, SessionSnapshot, SessionState } from "./state/session.ts";
export { defineSlice } from "./state/slice.ts";
export type { Draft, Slice, SliceReducers } from "./state/slice.ts";

export { provide, provideFactory } from "./resources/binding.ts";
export type { Binding, ResourceOf, Resources, ResourceScope, UsedResources } from "./resources/binding.ts";
export { Filesystem } from "./resources/filesystem.ts";
export { guardedFor, isGuardable } from "./resources/guard.ts";
export type { CallGuard, Guardable } from "./resources/guard.ts";
export { resourceKey } from "./resources/key.ts";
export type { ResourceKey } from "./resources/key.ts";
export { isSnapshotable } from "./resources/snapshotable.ts";
export type { Snapshotable } from "./resources/snapshotable.ts";

export { trackBudget } from "./limits/budget.ts";
export type {
  Budget,
  BudgetAmounts,
  BudgetReservation,
  BudgetTracker,
  SavedBudget,
  TrackedBudget,
} from "./limits/budget.ts";
export { setAlarm, systemClock } from "./limits/clock.ts";
export type { Clock } from "./limits/clock.ts";
export { deadlineAt, deadlineIn, isDeadline } from "./limits/deadline.ts";
export type { Deadline } from "./limits/deadline.ts";
export { addUsage, countUsage, noUsage } from "./limits/usage.ts";
export type { BudgetDimension, ReportedUsage, Usage } from "./limits/usage.ts";

export type {
  ContinueFrom,
  EvaluateOptions,
  EvaluationStream,
  PartialOutput,
  PromptResponse,
  ProviderAdapter,
  StreamEvent,
  ThrottlePolicy,
} from "./provider/adapter.ts";
export { completedMessages, parseMessages } from "./provider/message.ts";
export type { AssistantMessage, Message, PromptMessage, ToolCall, ToolMessage } from "./provider/message.ts";
export type {
  FinishReason,
  ModelDelta,
  ModelFailure,
  ModelCapabilities,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  ToolChoice,
  ToolSpec,
} from "./provider/model.ts";
