import type { ToolMessage } from "@proviso/core";
import type { Run } from "../run.ts";
import { withFilesBehind } from "../content/files-behind.ts";
import { readResultName } from "./read-result.ts";
import { bothEnds, stubText, wholeLength } from "./stand-in.ts";
import { keepText } from "./texts.ts";

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
  // An end that is cut inside a secret would hide it from what looks for it.
  const whole = run.redaction.value(answer.text);
  if (!isReadable) return { ...answer, text: bothEnds(whole, most) };
  const full = await keepText(run, whole, factsOf(answer));
  return { ...answer, text: bothEnds(whole, most, full.hash), full };
}

/** The result as a stub; the whole is stored where it can be read. */
export async function stubOf(run: Run, given: ToolMessage, isReadable: boolean): Promise<ToolMessage> {
  const { files: _, ...answer } = given;
  const text = run.redaction.value(answer.text);
  if (!isReadable) return withoutFiles({ ...answer, text: stubText(text.length, undefined) });
  const { full = await keepText(run, text, factsOf(answer)) } = answer;
  const length = answer.full === undefined ? text.length : wholeLength(text, answer.full.hash);
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
