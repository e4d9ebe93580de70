import type { Deadline, OutputOf, PromptResponse } from "@proviso/core";
import type { review } from "./review-prompt.ts";
import { printable } from "./text.ts";

export type Review = OutputOf<typeof review>;

export interface Provisos {
  readonly deadline: Deadline;
  readonly deadlineMs: number;
  readonly budget: number;
  readonly notes: readonly { readonly path: string }[];
}

/** The review as a person reads it. */
export function reviewText({ summary, issues, nextSteps }: Review, width: number): string {
  const places = issues.map(({ path, line }) => printable(`${path}:${line}`));
  const placeWidth = Math.min(48, Math.max(5, ...places.map(({ length }) => length)));
  const rows = issues.flatMap(({ severity, message }, index) => {
    const place = shortened(places[index] ?? "", placeWidth).padEnd(placeWidth);
    return hanging(`${severity.padEnd(8)}  ${place}  `, message, width);
  });
  const heading = `${"severity"}  ${"where".padEnd(placeWidth)}  what`;
  return [
    ...hanging("", summary, width),
    "",
    ...(rows.length === 0 ? [] : [heading, ...rows, ""]),
    ...(nextSteps.length === 0 ? [] : ["Next:", ...nextSteps.flatMap((step) => hanging("- ", step, width)), ""]),
  ].join("\n");
}

/** What was spent, against the provisos. */
export function provisosText(response: PromptResponse<Review>, provisos: Provisos): string {
  const { turns, toolResults, usage, run } = response;
  const rolledBack = toolResults.filter(({ result }) => !result.success);
  const spentMs = provisos.deadlineMs - provisos.deadline.remainingMs();
  const rows: readonly (readonly [string, string])[] = [
    ["turns", String(turns)],
    ["tool calls", String(toolResults.length)],
    [
      "rolled back",
      `${rolledBack.length}${rolledBack.length === 0 ? "" : ` (${rolledBack.map(({ name }) => name).join(", ")})`}`,
    ],
    [
      "notes kept",
      `${provisos.notes.length}${provisos.notes.length === 0 ? "" : ` (${provisos.notes.map(({ path }) => printable(path)).join(", ")})`}`,
    ],
    ...(run === undefined || run.attempt === 1
      ? []
      : [["from record", `${run.keptSteps} of ${turns + toolResults.length} steps`] as const]),
    ["tokens", `${usage.totalTokens} of ${provisos.budget}${usage.estimated ? " (partly estimated)" : ""}`],
    ["time", `${(spentMs / 1_000).toFixed(1)} s of ${provisos.deadlineMs / 1_000} s`],
  ];
  return rows.map(([name, value]) => `${name.padEnd(12)}${value}`).join("\n");
}

/** Keeps the end, which tells most of a path. */
function shortened(text: string, width: number): string {
  return text.length <= width ? text : `…${text.slice(1 - width)}`;
}

/** Wrapped at words, indented under the first line's prefix. */
function hanging(prefix: string, text: string, width: number): readonly string[] {
  const room = Math.max(20, width - prefix.length);
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > room) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.map((line, index) => (index === 0 ? prefix : " ".repeat(prefix.length)) + printable(line));
}
