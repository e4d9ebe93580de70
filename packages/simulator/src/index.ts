export { fallbackRule } from "./fallback-rule.ts";
export { startSimulator } from "./server.ts";
export type { Simulator, SimulatorOptions } from "./server.ts";
export type {
  AnswerStep,
  HttpStep,
  LoggedRequest,
  SimulatedCall,
  SimulatedMessage,
  SimulatedRequest,
  SimulatedTool,
  SimulatedToolResult,
  SimulatorRule,
  SimulatorStep,
} from "./types.ts";
