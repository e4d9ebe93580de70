export { BudgetExceededError } from "./budget-error.ts";
export type { BudgetState } from "./budget-error.ts";
export { errorReason } from "./error-reason.ts";
export type { ErrorReason } from "./error-reason.ts";
export {
  AbortedError,
  DeadlineExceededError,
  isEvaluationFailure,
  OptionError,
  OutputParseError,
  PromptEvaluationError,
  PromptRenderError,
  ProviderError,
  ThrottleError,
  TurnLimitError,
} from "./evaluation-errors.ts";
export { DefinitionError, NotSupportedError, ProvisoError, RevokedError } from "./errors.ts";
export { VisibilityExpansionRequired } from "./prompt/disclosure/visibility-error.ts";
export type { EvaluationDetails, EvaluationFailure } from "./evaluation-errors.ts";
export type { ProviderErrorReason, ThrottleKind } from "./failure-kinds.ts";
export { InternalError } from "./internal-error.ts";
export { ListenerError } from "./listener-error.ts";
export { ProcessError } from "./process-error.ts";
export { FilesystemError } from "./filesystem-error.ts";
export type { FilesystemFault } from "./filesystem-error.ts";
export { DeadlockError, RestoreError, UnusableError } from "./transaction-errors.ts";
export { RunError } from "./run-error.ts";
export type { Divergence, Pending, RunFault } from "./run-error.ts";
export type { JsonSchema, ObjectSchema, Schema } from "./schema.ts";
export type { SchemaIssue } from "./schema-issue.ts";
export type { InputOf, OutputOf, ParamsOf } from "./types.ts";

export type { TaskExample } from "./prompt/examples.ts";
export type { AppliedOverride, OverridesStore, PromptOverride } from "./prompt/overrides.ts";
export type {
  CheckedText,
  UnknownPlaceholder,
  UnknownProperty,
  UnprintablePlaceholder,
} from "./prompt/placeholders.ts";
export { defineSection } from "./prompt/section.ts";
export type { CheckedSections, Section, SectionDefinition } from "./prompt/section.ts";
export { acceptOverride, definePrompt, overrideOf } from "./prompt/template.ts";
export type { Prompt, PromptDefinition, PromptTemplate, RenderedPrompt, RenderOptions } from "./prompt/template.ts";
export type { Visibility } from "./prompt/disclosure/visibility.ts";

export type { CompletionChecker } from "./tool/completion.ts";
export type { FeedbackProvider } from "./tool/feedback.ts";
export { allow, definePolicy, deny, suspend } from "./tool/policy.ts";
export type {
  ApprovalContext,
  DefinedPolicy,
  PolicyCall,
  PolicyDecision,
  PolicyParts,
  Suspension,
  ToolPolicy,
} from "./tool/policy.ts";
export { defineProviderTool } from "./tool/provider-tool.ts";
export type { ProviderTool } from "./tool/provider-tool.ts";
export { toolError, toolOk } from "./tool/result.ts";
export type { ToolResult, ToolReturn } from "./tool/result.ts";
export { defineTool } from "./tool/tool.ts";
export type {
  ContextFor,
  NestedOptions,
  ProgressOfCall,
  Reconciled,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolInput,
  ToolSchema,
} from "./tool/tool.ts";
export type { PlainJsonSchema } from "./validation/from-json-schema.ts";

export { defineEvent, isEvent } from "./state/event.ts";
export type { AppEvent, EventFilter, EventOf, EventType, SessionEvent } from "./state/event.ts";
export type { ProviderToolUsed, ReasoningDelta, TextDelta, TextReset } from "./state/answer-events.ts";
export type {
  EvaluationRestarted,
  FeedbackGiven,
  FrameworkEvent,
  HistoryCompacted,
  OutputDelta,
  PromptExecuted,
  PromptFailed,
  RejectedParams,
  RunResumed,
  RunSuspended,
  SectionsOpened,
  ToolInvoked,
  ToolProgress,
  ToolRequested,
  TransactionFailed,
} from "./state/events.ts";
export type { AttemptView, EvalReader, EvalSummary, EvalView, Interval } from "./state/eval-reader.ts";
export type { CallChanges, Observer, ResourceChange, SliceValue, Step, TouchedResource } from "./state/observer.ts";
// oxlint-disable-next-line proviso/plain-words -- a public name
export type { PromptRendered, ToldLimits } from "./state/prompt-rendered.ts";
export type { ProviderRequested, ProviderResponded, ProviderThrottled } from "./state/provider-events.ts";
export type { RenderedSection } from "./prompt/rendered-sections.ts";
export type { DispatchResult, Session, SessionSnapshot, SessionState } from "./state/session.ts";
export type { JournalRun, RunFacts } from "./state/run.ts";
export type {
  JsonPatch,
  RecordQuery,
  RunQuery,
  RunReader,
  RunRecord,
  RunSummary,
  SlicePatch,
  StateRecord,
} from "./state/run-reader.ts";
export { defineSlice } from "./state/slice.ts";
export type { Draft, LogDraft, Slice, SliceDraft, SliceReducers } from "./state/slice.ts";

export { provide, provideFactory } from "./resources/binding.ts";
export type { Binding, ResourceOf, Resources, ResourceScope, UsedResources } from "./resources/binding.ts";
export { Blobs } from "./resources/blobs.ts";
export { Filesystem } from "./resources/filesystem.ts";
export { guardedFor } from "./resources/guard.ts";
export type { CallGuard, Guardable } from "./resources/guard.ts";
export { resourceKey } from "./resources/key.ts";
export type { ResourceKey } from "./resources/key.ts";
export { isSnapshotable } from "./resources/snapshotable.ts";
export type { Snapshotable } from "./resources/snapshotable.ts";

export { countSpending, trackBudget } from "./limits/budget.ts";
export type { Budget, BudgetTracker, SavedBudget, TrackedBudget } from "./limits/budget.ts";
export { systemClock } from "./limits/clock.ts";
export type { Clock } from "./limits/clock.ts";
export { deadlineAt, deadlineIn } from "./limits/clock.ts";
export type { Deadline } from "./limits/clock.ts";
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
export { isFileRef, linkedFile, uploadedFile } from "./content/file.ts";
export type { FileLike, FileRef, LinkedFile, PlacedFile, StoredFile, UploadedFile } from "./content/file.ts";
export { partsOf } from "./content/parts.ts";
export type { MessagePart } from "./content/parts.ts";
export { BlobError } from "./blob-error.ts";
export type { BlobFault } from "./blob-error.ts";
export { JournalError } from "./journal-error.ts";
export type { JournalFault } from "./journal-error.ts";
export type { ContextPolicy, SummaryPolicy } from "./provider/context.ts";
export type {
  CacheSetting,
  EvaluationSettings,
  ProviderOptions,
  ReasoningEffort,
  ReasoningSetting,
  TokenLogprob,
} from "./provider/settings.ts";
export { parseMessages } from "./provider/message.ts";
export type { AssistantMessage, Message, PromptMessage, ToolCall, ToolMessage } from "./provider/message.ts";
export type {
  FileSupport,
  GeneratedFile,
  ModelCapabilities,
  ModelFailure,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  RouteStep,
  ToolChoice,
} from "./provider/model.ts";
export type { ProviderCall, Source } from "./provider/answer-parts.ts";
export type {
  Pace,
  PaceEntry,
  PaceLimits,
  PaceOutcome,
  PaceRefusal,
  PaceRequest,
  PaceState,
  PaceTurn,
  Pacing,
  Allowance,
  RateLimit,
} from "./provider/pacing.ts";
