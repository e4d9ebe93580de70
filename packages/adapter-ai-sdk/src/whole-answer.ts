import type { AssistantMessage, PromptResponse, StreamEvent, ToolInvoked } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { toJsonValue } from "@proviso/core/internal";
import { turnsBefore } from "@proviso/runtime/internal";

/**
 * The answer of an evaluation as the events that a page would have been shown: of a run that has ended there are none, its
 * answer comes from its record. Calls that the provider ran are not part of an answer, so they are left out.
 */
export function eventsOf(response: PromptResponse<unknown>): readonly StreamEvent[] {
  const { evaluationId, messages, turns, toolResults, text, output, sources = [] } = response;
  const base = { evaluationId, sessionId: "", seq: 0, at: 0 };
  // What is not read of an event is left out.
  const events = (...given: readonly object[]): readonly StreamEvent[] =>
    given.map((each) => ({ ...base, ...each }) as StreamEvent);
  // The messages begin with the history that the evaluation was given, and have the answers of its last attempt.
  const before = turnsBefore(response);
  const answers = messages.filter((each): each is AssistantMessage => each.role === "assistant").slice(before - turns);
  return answers.flatMap((answer, index) => {
    const turn = turns - answers.length + index + 1;
    const isLast = turn === turns;
    const shown = isLast && text === null ? toJsonValue(output) : undefined;
    return events(
      { type: "provider.requested", turn },
      ...(answer.reasoning ? [{ type: "reasoning.delta", turn, text: answer.reasoning }] : []),
      ...(answer.text === "" ? [] : [{ type: "text.delta", turn, text: answer.text }]),
      ...(shown === undefined ? [] : [{ type: "output.delta", turn, partial: shown.value }]),
      { type: "provider.responded", turn, sources: isLast ? sources : [], files: answer.files ?? [] },
      ...answer.toolCalls.flatMap((call): readonly object[] => {
        const result = toolResults.find((each) => each.callId === call.id && each.turn === turn);
        if (result === undefined) return [];
        const asked = { type: "tool.requested", turn, callId: call.id, name: call.name, arguments: call.arguments };
        return wasRequested(result) ? [asked, result] : [result];
      }),
    );
  });
}

/** Whether the arguments of a call fitted: `params` are those then. */
function wasRequested({ ran, params }: ToolInvoked): boolean {
  return ran || !(isRecord(params) && typeof params["rawArguments"] === "string" && "error" in params);
}
