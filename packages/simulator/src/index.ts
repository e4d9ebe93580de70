export type { Chaos } from "./chaos.ts";
export type { SimulatorClock } from "./clock.ts";
export { fallbackRule } from "./fallback-rule.ts";
export { faultApplies, faultNames, faults } from "./faults.ts";
export type { Fault, FaultName } from "./faults.ts";
export type { RateLimit } from "./limit.ts";
export { startSimulator } from "./server.ts";
export type { Simulator, SimulatorOptions } from "./server.ts";
export { errorStep } from "./service-error.ts";
export type { ServiceError } from "./service-error.ts";
export type {
  AnswerStep,
  Api,
  HttpStep,
  LoggedRequest,
  SimulatedCall,
  SimulatedFile,
  SimulatedMessage,
  SimulatedRequest,
  SimulatedSearch,
  SimulatedTool,
  SimulatedToolResult,
  SimulatorRule,
  SimulatorStep,
} from "./types.ts";
