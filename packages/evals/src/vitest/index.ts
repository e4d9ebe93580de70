export { describeEval } from "./describe-eval.ts";
export type { DescribeEvalOptions } from "./describe-eval.ts";
