import type { ProviderToolUsed, StreamEvent, ToolResult } from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import type { UIMessageStreamChunk } from "./ui-message-chunk.ts";

/**
 * The calls of one message. A page knows a call by its id, which an answer's calls share with no other of that turn: a
 * call of a later turn that has it too gets another one here. What an earlier stream of the message had is not known.
 */
export class PageCalls {
  /** The calls that were begun, by the page's id. */
  readonly #begun = new Set<string>();
  /** The page's ids, by turn and id. */
  readonly #ids = new Map<string, string>();
  /** The ids that were given, each with the number that the next call of its name may have. */
  readonly #taken = new Map<string, number>();

  chunksOf(event: StreamEvent): readonly UIMessageStreamChunk[] {
    if (event.type === "provider.tool") return this.#ofProvider(event);
    if (event.type === "tool.requested") {
      const toolCallId = this.#idOf(event);
      this.#begun.add(toolCallId);
      const read = parseJson(event.arguments === "" ? "{}" : event.arguments);
      const input = read.ok ? read.value : event.arguments;
      return [{ type: "tool-input-available", toolCallId, toolName: event.name, input, dynamic: true }];
    }
    if (event.type === "tool.progress") {
      const { done, total, message } = event;
      const output = { done, total, message };
      const toolCallId = this.#idOf(event);
      return [{ type: "tool-output-available", toolCallId, output, preliminary: true, dynamic: true }];
    }
    if (event.type !== "tool.invoked") return [];
    const { name: toolName, params: input, result } = event;
    const toolCallId = this.#idOf(event);
    if (result.success) return [{ type: "tool-output-available", toolCallId, output: outputOf(result), dynamic: true }];
    const errorText = result.message;
    // A call whose arguments did not fit, or of a tool that there is not, was never begun.
    return this.#begun.has(toolCallId)
      ? [{ type: "tool-output-error", toolCallId, errorText, dynamic: true }]
      : [{ type: "tool-input-error", toolCallId, toolName, input, errorText, dynamic: true }];
  }

  /** A call that the provider ran is over when it is reported. It may have no id. */
  #ofProvider({ callId, name, input, output = null, isError }: ProviderToolUsed): readonly UIMessageStreamChunk[] {
    const own = { toolCallId: this.#newId(callId || name), providerExecuted: true, dynamic: true } as const;
    const begun: UIMessageStreamChunk = { type: "tool-input-available", ...own, toolName: name, input };
    if (!isError) return [begun, { type: "tool-output-available", ...own, output }];
    const errorText = typeof output === "string" ? output : JSON.stringify(output);
    return [begun, { type: "tool-output-error", ...own, errorText }];
  }

  #idOf({ turn, callId }: { readonly turn: number; readonly callId: string }): string {
    const key = `${turn} ${callId}`;
    const known = this.#ids.get(key) ?? this.#newId(callId);
    this.#ids.set(key, known);
    return known;
  }

  #newId(wanted: string): string {
    let id = wanted;
    let next = this.#taken.get(wanted) ?? 2;
    while (this.#taken.has(id)) id = `${wanted}_${next++}`;
    this.#taken.set(wanted, next);
    if (id !== wanted) this.#taken.set(id, 2);
    return id;
  }
}

/** What a page is shown of a result: its value, and the message where there is none. A tool that returned null has null. */
function outputOf({ value, message, hideValue }: Extract<ToolResult, { readonly success: true }>): unknown {
  const isNull = value === null && hideValue === true && message === "null";
  return isNull ? null : (value ?? message);
}
