export type { Environment } from "./environment.ts";
export type { Logger, LogLevel } from "./logging.ts";
export type { AgentDriver, AgentRun } from "./agent.ts";
export { agentAdapter, modelAdapter } from "./model-adapter.ts";
export { evaluateAll } from "./evaluate-all.ts";
export type { Evaluated } from "./batch.ts";
export type { EvaluateAllOptions, EvaluateAllProgress, EvaluatedAll } from "./evaluate-all.ts";
export { serverSentEvents } from "./streaming/server-sent-events.ts";
export type { ServerSentEvent, ServerSentEventOptions } from "./streaming/server-sent-events.ts";
export { memoryBlobs } from "./content/memory-blobs.ts";
export { openFile } from "./content/open-file.ts";
export { ConversationError } from "./conversations/conversation-error.ts";
export type { ConversationFault } from "./conversations/conversation-error.ts";
export type { Conversation, ConversationEvaluateOptions } from "./conversations/conversation.ts";
export { memoryConversations } from "./conversations/memory-store.ts";
export { restoreConversation, saveConversation } from "./conversations/saved.ts";
export type { ConversationState, SavedConversation } from "./conversations/saved.ts";
export { conversationId, conversationQuery } from "./conversations/store.ts";
export type {
  AcquiredConversation,
  ConversationLease,
  ConversationQuery,
  ConversationStore,
  ListedConversation,
  StoredConversation,
} from "./conversations/store.ts";
export { readConversation, withConversation } from "./conversations/with-conversation.ts";
export type { ConversationOptions, ReadConversation } from "./conversations/with-conversation.ts";
export { checkOptions } from "./adapter-options.ts";
export type { AdapterOptions, OptionsCheck } from "./adapter-options.ts";
export type { RunJournal } from "./recording/run-journal.ts";
export type { TokenPrices } from "./prices.ts";
export { memoryFilesystem } from "./resources/memory-filesystem.ts";
export { memoryOverrides } from "./overrides.ts";
export { openResources } from "./resources/context.ts";
export { append, replaceLatest, upsertBy } from "./session/reducers.ts";
export { applyStatePatch, statePatch } from "./session/state-patch.ts";
export { createSession, restoreSession } from "./session/session.ts";
export { createSnapshot, restoreSnapshot, transaction } from "./transaction-scope.ts";
export type { Snapshot, TransactionScope } from "./transaction-scope.ts";
export type { TransactionViews } from "./transaction-views.ts";
