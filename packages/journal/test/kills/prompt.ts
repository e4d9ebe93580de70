// What the killed runs evaluate, for the process that is killed and for the one that replays its record.
import { definePrompt, defineTool, toolOk, type ModelResponse, type ToolContext } from "@proviso/core";
import { z } from "zod";

/** Where the calls of a run write: rows in the file of the journal, or files of a host folder. */
export type KillPlace = "together" | "host";

/** The calls of a run. */
export const callsOfRun = 12;

type Write = (n: number, context: ToolContext) => Promise<void>;
/** Whether the call was done. */
type WasDone = (n: number, context: ToolContext) => Promise<boolean>;

/** A prompt with one tool that writes. */
export function killsPrompt(write: Write, wasDone?: WasDone) {
  const options = {
    name: "insert",
    description: "Inserts.",
    input: z.object({ n: z.number() }),
    transactional: true,
    async execute({ n }: { readonly n: number }, context: ToolContext) {
      await write(n, context);
      return n;
    },
  };
  const reconcile = async ({ n }: { readonly n: number }, context: ToolContext) =>
    (await wasDone?.(n, context)) === true ? toolOk(n) : ("not-started" as const);
  const insert = wasDone === undefined ? defineTool(options) : defineTool({ ...options, reconcile });
  return definePrompt({
    ns: "kills",
    key: "rows",
    sections: [{ key: "task", text: "Insert.", tools: [insert] }],
  }).bind();
}

/** The answer of the model after so many of its answers. */
export function killsAnswer(before: number): ModelResponse {
  const isOver = before >= callsOfRun;
  const call = { id: `c${before}`, name: "insert", arguments: JSON.stringify({ n: before }) };
  return {
    message: { role: "assistant", text: isOver ? "Done." : "", toolCalls: isOver ? [] : [call] },
    finishReason: isOver ? "stop" : "tool-calls",
    usage: { inputTokens: 10, outputTokens: 1 },
  };
}
