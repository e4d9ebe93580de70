import type { ToolContext } from "./tool.ts";

/** Something said to the model beside a tool's result. */
export interface FeedbackProvider {
  readonly name: string;
  readonly every: { readonly calls: number; readonly ms?: number } | { readonly ms: number };
  provide(context: ToolContext): string | undefined;
}
