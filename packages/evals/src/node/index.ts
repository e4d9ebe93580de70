export { csv, jsonl } from "./files.ts";
export { isEvalStore, openEvals } from "./open-evals.ts";
export { readRun, writeRun } from "./run-files.ts";
export { sqliteEvalStore } from "./sqlite-eval-store.ts";
