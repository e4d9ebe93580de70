export { describeAdapter } from "./suite.ts";
export type {
  ConformanceAnswer,
  ConformanceFault,
  ConformanceFile,
  ConformanceMessage,
  ConformanceOptions,
  ConformanceRefusal,
  ConformanceRequest,
  ConformanceScript,
  ConformanceSettings,
  ConformanceStep,
  Connection,
} from "./script.ts";
