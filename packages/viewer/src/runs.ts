export { compareRuns } from "./runs/compare.ts";
export type { RunComparison } from "./runs/compare.ts";
export { limitsAt } from "./runs/limits.ts";
export type { RunLimits } from "./runs/limits.ts";
export { runRows } from "./runs/rows.ts";
export type { RunRow, RunRows } from "./runs/rows.ts";
export { stateAt, stateChange } from "./runs/state.ts";
export type { StateChange } from "./runs/state.ts";
