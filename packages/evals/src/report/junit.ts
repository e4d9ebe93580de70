import type { AttemptRecord, EvalReport } from "../results.ts";
import { gateLine, gateName, scoredName, unscoredText } from "./gate-line.ts";

/**
 * Returns a report as JUnit XML, for the pages of a CI: a test for each gate, and one that every attempt is scored. The
 * attempts are its `system-out`, a line each: names, scores and reasons, without the texts of rows and answers. Characters
 * that XML cannot have are shown as U+FFFD.
 */
export function formatJUnit(report: EvalReport): string {
  const { name, startedAt, gates, attempts } = report;
  const missing = unscoredText(report);
  const tests = [
    ...gates.map((gate) => testcase(name, gateName(gate), gate.passes ? undefined : gateLine(gate))),
    testcase(name, scoredName, missing),
  ];
  const failures = gates.filter(({ passes }) => !passes).length + (missing === undefined ? 0 : 1);
  const counts = `tests="${tests.length}" failures="${failures}" errors="0"`;
  const lines = [...gates.map(gateLine), ...attempts.map(attemptLine)].map(escaped);
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `  <testsuite name="${escaped(name)}" ${counts} skipped="0" timestamp="${escaped(startedAt)}">`,
    ...tests,
    `    <system-out>${lines.join("\n")}</system-out>`,
    "  </testsuite>",
    "</testsuites>",
    "",
  ].join("\n");
}

/** `fault`: why it fails; undefined: it passes. */
function testcase(suite: string, name: string, fault: string | undefined): string {
  const open = `    <testcase classname="${escaped(suite)}" name="${escaped(name)}"`;
  if (fault === undefined) return `${open}/>`;
  const [first = ""] = fault.split("\n");
  return `${open}><failure message="${escaped(first)}">${escaped(fault)}</failure></testcase>`;
}

function attemptLine({ rowId, variant, repetition, failure, scores }: AttemptRecord): string {
  const shown = Object.entries(scores).map(([scorer, score]) => {
    if ("unscored" in score) return `${scorer} unscored: ${score.unscored}`;
    return `${scorer} ${score.value}${score.reason === undefined ? "" : ` (${score.reason})`}`;
  });
  const failed = failure === undefined ? [] : [`failed with ${failure.reason}: ${failure.message}`];
  const line = `${rowId} · ${variant} · ${repetition}   ${[...failed, ...shown].join("; ")}`;
  return line.replaceAll(/[\r\n]+/gu, " ");
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  // What XML 1.0 allows of the first characters: tab, line feed and carriage return.
  const allowed = text.toWellFormed().replaceAll(/[^\P{Cc}\t\n\r]|[\uFFFE\uFFFF]/gu, "\uFFFD");
  return allowed.replaceAll(/[&<>"]/gu, (character) => entities[character] ?? character);
}
