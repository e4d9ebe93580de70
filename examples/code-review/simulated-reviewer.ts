import type { AnswerStep, SimulatedRequest, SimulatedToolResult } from "@proviso/simulator";
import { findIn, type Finding } from "./findings.ts";

const readsATurn = 5;
/** With every turn all of it is sent again, so what is read weighs on the budget many times. */
const mostReads = 40;
const mostCharacters = 160_000;
const mostPages = 4;
const mostIssues = 20;
const weight = { high: 0, medium: 1, low: 2 } as const;

/**
 * Stands in for a model: it lists, reads several files a turn, takes notes, and derives its findings from the text
 * it was really sent. It keeps no state: what it does next follows from the conversation alone.
 */
export function simulatedReviewer(request: SimulatedRequest): AnswerStep {
  const results = request.toolResults();
  const listing = results.find(({ name }) => name === "list_files");
  if (listing === undefined)
    return { text: "I list the files first.", toolCalls: [{ name: "list_files", arguments: {} }] };

  const paths = listedPaths(listing);
  const reads = results.filter(({ name }) => name === "read_file");
  const files = readFiles(reads);
  const next = nextReads(chooseFiles(paths), reads, files);
  if (next.length > 0) return { toolCalls: next.map((given) => ({ name: "read_file", arguments: given })) };

  const findings = files.flatMap(({ path, text, of }) => findIn(path, text, of)).toSorted(bySeverity);
  const notes = notesOn(findings, paths);
  if (notes.length > 0 && !results.some(({ name }) => name === "take_note")) {
    return { toolCalls: notes.map((note) => ({ name: "take_note", arguments: note })) };
  }
  return { output: reviewOf(paths, files, findings) };
}

function listedPaths(listing: SimulatedToolResult): readonly string[] {
  try {
    const { files } = JSON.parse(listing.text) as { readonly files?: unknown };
    return Array.isArray(files) ? files.filter((path) => typeof path === "string") : [];
  } catch {
    return [];
  }
}

const source = /\.([cm]?[jt]sx?|py|go|rs|java|rb|c|h|cc|cpp|cs|php|sh|sql|md)$/i;

/** Source files first. */
function chooseFiles(paths: readonly string[]): readonly string[] {
  return [...paths].toSorted((a, b) => Number(source.test(b)) - Number(source.test(a)));
}

interface ReadFile {
  readonly path: string;
  readonly text: string;
  readonly pages: number;
  /** The last line that was read. */
  readonly to: number;
  /** Lines it has. */
  readonly of: number;
}

/** The pages of each file put together; a read that failed does not begin with the lines that it read. */
function readFiles(reads: readonly SimulatedToolResult[]): readonly ReadFile[] {
  const files = new Map<string, ReadFile>();
  for (const { arguments: given, text } of reads) {
    const [head = "", from, to, of] = /^lines (\d+)-(\d+) of (\d+)\n/.exec(text) ?? [];
    if (from === undefined) continue;
    const path = String(given["path"]);
    const before = files.get(path);
    const page = text.slice(head.length);
    files.set(path, {
      path,
      text: before === undefined ? page : `${before.text}\n${page}`,
      pages: (before?.pages ?? 0) + 1,
      to: Number(to),
      of: Number(of),
    });
  }
  return [...files.values()];
}

/** Files that were begun go first. */
function nextReads(
  chosen: readonly string[],
  reads: readonly SimulatedToolResult[],
  files: readonly ReadFile[],
): readonly object[] {
  const characters = files.reduce((sum, { text }) => sum + text.length, 0);
  if (characters >= mostCharacters) return [];
  const begun = files.filter(({ pages, to, of }) => to < of && pages < mostPages);
  const asked = new Set(reads.map(({ arguments: given }) => given["path"]));
  const wanted = [
    ...begun.map(({ path, to }) => ({ path, fromLine: to + 1 })),
    ...chosen.filter((path) => !asked.has(path)).map((path) => ({ path })),
  ];
  return wanted.slice(0, Math.min(readsATurn, mostReads - reads.length));
}

function bySeverity(a: Finding, b: Finding): number {
  return weight[a.severity] - weight[b.severity] || a.path.localeCompare(b.path) || a.line - b.line;
}

interface Note {
  readonly path: string;
  readonly note: string;
}

/** On the files with most to do; and, as models do, on one that is not there. */
function notesOn(findings: readonly Finding[], paths: readonly string[]): readonly Note[] {
  const [worst] = paths;
  if (worst === undefined) return [];
  const counts = Map.groupBy(findings, ({ path }) => path);
  const busiest = [...counts].toSorted(([, a], [, b]) => b.length - a.length).slice(0, 2);
  const notes = busiest.map(([path, found]) => ({
    path,
    note: `${plural(found.length, "finding")}, first: ${found[0]?.message}`,
  }));
  const missing = missingTest(busiest[0]?.[0] ?? worst, paths);
  return [...notes.slice(0, 1), { path: missing, note: "look here for the tests" }, ...notes.slice(1)];
}

function missingTest(path: string, paths: readonly string[]): string {
  const guess = path.replace(/(\.[^./]+)?$/, ".test$1");
  return paths.includes(guess) ? `${guess}.missing` : guess;
}

function reviewOf(paths: readonly string[], files: readonly ReadFile[], findings: readonly Finding[]): object {
  const lines = files.reduce((sum, { to }) => sum + to, 0);
  const begun = files.filter(({ to, of }) => to < of).length;
  const shown = findings.slice(0, mostIssues);
  const inPart = begun === 0 ? "" : `, ${begun} of them in part`;
  const read = `Read ${files.length} of ${plural(paths.length, "file")}${inPart} (${plural(lines, "line")})`;
  const more = findings.length > shown.length ? `; the ${shown.length} gravest are listed` : "";
  return {
    summary: `${read}: ${findings.length === 0 ? "nothing stands out" : plural(findings.length, "finding")}${more}.`,
    issues: shown,
    nextSteps: nextSteps(findings, paths.length),
  };
}

function nextSteps(findings: readonly Finding[], files: number): readonly string[] {
  if (files === 0) return ["Name a folder that has files in it."];
  const kinds = [...Map.groupBy(findings, ({ message }) => message.replaceAll(/\d+|\b\w*[A-Z]\w*\b/g, "…"))]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .slice(0, 3);
  return kinds.map(([, found]) => {
    const [first] = found;
    return `${found.length} ×: ${first?.message} (${first?.path}:${first?.line}${found.length > 1 ? " and others" : ""})`;
  });
}

function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
