export { definePrimitive } from "./primitive.ts";
export type { PrimitiveDefinition } from "./definition.ts";
export type { Primitive, RunOptions } from "./primitive.ts";
export type { RecoverableError, RecoverableName, RecoveryDecision, RecoveryPolicy } from "./recovery.ts";
export type { PrimitiveFailure, PrimitiveResult, PrimitiveSuccess } from "./result.ts";
export type { PrimitiveSettings } from "./settings.ts";
