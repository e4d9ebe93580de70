import { escapedAsJson, printable } from "@proviso/core/internal";

/** Like `printable`, in one line. */
export function inOneLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, escapedAsJson);
}

/** One JSON document, in several lines. Characters that could steer a terminal are escaped as JSON escapes them. */
export function document(value: unknown): string {
  return printable(JSON.stringify(value, undefined, 2));
}

/** Like `document`, in one line. */
export function jsonLine(value: unknown): string {
  return printable(JSON.stringify(value));
}

/** The error that a command line with `--json` ends with; undefined: it has none. With `--stream` it is a line as the events are. */
export function errorJson(
  args: readonly string[],
  error: { readonly code: string; readonly message: string },
): string | undefined {
  if (!args.includes("--json")) return undefined;
  return args.includes("--stream") ? jsonLine({ error }) : document({ error });
}

/** Returns lines with columns below each other; numbers stand at the right. */
export function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): readonly string[] {
  const cells = [head, ...rows.map((row) => row.map((cell) => inOneLine(String(cell))))];
  const widths = head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)));
  const isNumber = head.map((_, at) => rows.every((row) => typeof row[at] === "number"));
  return cells.map((row) =>
    row
      .map((cell, at) => (isNumber[at] === true ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}
