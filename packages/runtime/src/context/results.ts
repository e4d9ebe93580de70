import type { ToolMessage } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { Run } from "../run.ts";
import { withFilesBehind } from "../content/files-behind.ts";
import { readResultName } from "./read-result.ts";
import { bothEnds, stubText } from "./stand-in.ts";
import { keepText, keptText } from "./texts.ts";

/** The result as the model sees it: of more than `most` UTF-16 units it sees both ends, and the whole is stored. */
export async function shownAnswer(
  run: Run,
  answer: ToolMessage,
  most: number,
  isReadable: boolean,
): Promise<ToolMessage> {
  if (answer.text.length <= most || answer.name === readResultName) return answer;
  const { files, ...bare } = answer;
  if (files !== undefined) {
    const shown = await shownAnswer(run, bare, most, isReadable);
    return withFilesBehind(
      shown,
      files.map(({ file }) => file),
    );
  }
  if (!isReadable) return { ...answer, text: bothEnds(answer.text, most) };
  try {
    const full = await keepText(run, answer.text, factsOf(answer));
    return { ...answer, text: bothEnds(answer.text, most, full.hash), full };
  } catch (error) {
    // The call is done, whatever becomes of its text.
    run.log("warn", { tool: answer.name, callId: answer.callId, error: messageOf(error) }, "history.result.not_kept");
    return { ...answer, text: bothEnds(answer.text, most) };
  }
}

/** The result as a stub; the whole is stored where it can be read. */
export async function stubOf(run: Run, given: ToolMessage, isReadable: boolean): Promise<ToolMessage> {
  const { files: _, ...answer } = given;
  const { text } = answer;
  if (!isReadable) return withoutFiles({ ...answer, text: stubText(text.length, undefined) });
  const full = answer.full ?? (await keepText(run, text, factsOf(answer)));
  const { length } = (await keptText(run, full)) ?? text;
  return withoutFiles({ ...answer, text: stubText(length, full.hash), full });
}

/** Leaves out the files: the places where they stood are in the text that is gone. */
function withoutFiles(answer: ToolMessage & { readonly files?: unknown }): ToolMessage {
  const { files: _, ...rest } = answer;
  return rest;
}

function factsOf({ name, callId }: ToolMessage): { readonly name: string; readonly mediaType: string } {
  return { name: `${name} ${callId}.txt`, mediaType: "text/plain" };
}
