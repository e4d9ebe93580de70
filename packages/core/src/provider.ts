// The contract of a provider: what an adapter of a model service receives and returns.
export { partsOf } from "./content/parts.ts";
export type { MessagePart } from "./content/parts.ts";
export type { FileRef, PlacedFile, StoredFile } from "./content/file.ts";
export { isRecord } from "./values.ts";
export { parseJson } from "./json.ts";
export type { JsonLimits, JsonResult } from "./json.ts";
export { checkOptionNames } from "./option-names.ts";
export type { OptionNames } from "./option-names.ts";
export { jsonSchemaOf } from "./schema.ts";
export type { JsonSchema } from "./schema.ts";
export { isRecursive } from "./json-schema.ts";
export { describedSchema, looksAround } from "./described-schema.ts";
export { strictSchema } from "./strict-schema.ts";
export type { StrictSchema } from "./strict-schema.ts";
export type { ReportedUsage } from "./limits/usage.ts";
export type { ProviderCall, Source } from "./provider/answer-parts.ts";
export type { ProviderTool } from "./tool/provider-tool.ts";
export { parseMessages } from "./provider/message.ts";
export type { AssistantMessage, Message, PromptMessage, ToolCall, ToolMessage } from "./provider/message.ts";
export type {
  FileSupport,
  FinishReason,
  GeneratedFile,
  ModelDelta,
  ModelFailure,
  ModelCapabilities,
  ModelProvider,
  ModelRequest,
  ModelResponse,
  SettingRefusal,
  ToolChoice,
  ToolSpec,
} from "./provider/model.ts";
