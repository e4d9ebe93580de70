export type { CostEstimate } from "./cost.ts";
export { estimate } from "./estimate.ts";
export type { Estimate, EstimateOptions } from "./estimate.ts";
export type { Distribution } from "./quantile.ts";
export { samplesKept } from "./samples.ts";
export type { UsageHistory, UsageQuery, UsageSample, UsageStore } from "./samples.ts";
export { memoryUsageStore } from "./memory-store.ts";
export { usageStatistics } from "./statistics.ts";
export type { UsageStatistics } from "./statistics.ts";
