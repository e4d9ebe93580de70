export type { Environment, Logger } from "./environment.ts";
export type { AgentDriver, AgentRun } from "./agent.ts";
export { agentAdapter, modelAdapter } from "./evaluate.ts";
export type { AdapterOptions } from "./evaluate.ts";
export { memoryFilesystem } from "./resources/memory-filesystem.ts";
export { openResources } from "./resources/context.ts";
export { append, replaceLatest, upsertBy } from "./session/reducers.ts";
export { createSession } from "./session/session.ts";
export { modelFailureFrom } from "./throttle/retry-after.ts";
