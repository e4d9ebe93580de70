import type { FrameworkEvent, Tool, ToolCall, ToolPolicy, ToolResult } from "@proviso/core";
import type { Failure } from "../failures.ts";
import type { SectionsToOpen } from "../disclosure/opening.ts";

/** What is recorded of a call in `tool.invoked`, and the limit that ended the evaluation meanwhile. */
export interface Invocation {
  readonly params: unknown;
  readonly result: ToolResult;
  readonly stop?: Failure | undefined;
  /** Sections that are to be open from the next request on. */
  readonly opens?: SectionsToOpen | undefined;
  /** Whether the handler was begun. Left out: it was not. */
  readonly ran?: boolean | undefined;
  /** What the handler threw, for debugging; the model never sees it. */
  readonly cause?: unknown;
  /** Milliseconds until it ended, where others ran beside it; undefined: until it is recorded. */
  readonly durationMs?: number | undefined;
}

/** A call whose arguments fit; its input is frozen. */
export interface Accepted {
  readonly call: ToolCall;
  readonly tool: Tool;
  readonly input: unknown;
  /** If set, its `tool.requested` was emitted before the transaction began. */
  readonly announced?: FrameworkEvent | undefined;
}

/** What the policies have to do with a call. */
export interface Watched {
  readonly policies: readonly ToolPolicy[];
  /** The input that was approved, where an approval was needed. */
  readonly approved?: { readonly input: unknown } | undefined;
  /** Observers are around it already: the call waited for an approval in between. */
  readonly isSurrounded?: boolean;
  /** Only the policies' checks are asked: the handler comes later, once the call is approved. */
  readonly checksOnly?: boolean;
}
