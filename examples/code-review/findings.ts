/** One thing that a file's text gives away. */
export interface Finding {
  readonly path: string;
  readonly line: number;
  readonly severity: "low" | "medium" | "high";
  readonly message: string;
}

interface LineRule {
  readonly files: RegExp;
  readonly pattern: RegExp;
  readonly severity: Finding["severity"];
  message(match: RegExpExecArray): string;
}

const scripts = /\.[cm]?[jt]sx?$/;
const anything = /./;

const lineRules: readonly LineRule[] = [
  {
    files: anything,
    pattern: /\b(TODO|FIXME|XXX)\b/,
    severity: "medium",
    message: ([, word]) => `${word} is still open`,
  },
  {
    files: /\.[cm]?tsx?$/,
    // In prose, "any" is followed by a word.
    pattern: /(:|\bas)\s*any(?=\s*([^\s\w]|$))|<any>/,
    severity: "high",
    message: () => "`any` switches type checking off",
  },
  {
    files: scripts,
    pattern: /catch\s*(\([^)]*\))?\s*\{\s*\}/,
    severity: "high",
    message: () => "an error is swallowed by an empty catch",
  },
  { files: scripts, pattern: /@ts-ignore/, severity: "high", message: () => "a type error is silenced" },
  {
    files: scripts,
    pattern: /\bconsole\.(log|debug)\(/,
    severity: "low",
    message: ([, name]) => `console.${name} is left in`,
  },
  {
    files: scripts,
    pattern: /\bas unknown as\b/,
    severity: "medium",
    message: () => "a double cast hides what the types say",
  },
  { files: /\.py$/, pattern: /^\s*except\s*:/, severity: "high", message: () => "a bare except catches everything" },
  {
    files: anything,
    pattern: /^(?=.{161})/,
    severity: "low",
    message: ({ input }) => `a line of ${input.length} characters`,
  },
];

const longestFunction = 40;
const longestFile = 300;

/** Everything the rules see in a file's text, which may be only the beginning of its lines. */
export function findIn(path: string, text: string, totalLines: number): readonly Finding[] {
  const lines = text.split("\n");
  const found = lines.flatMap((content, index) =>
    lineRules.flatMap((rule): readonly Finding[] => {
      const match = rule.files.test(path) ? rule.pattern.exec(content) : null;
      return match === null ? [] : [{ path, line: index + 1, severity: rule.severity, message: rule.message(match) }];
    }),
  );
  const long: readonly Finding[] =
    totalLines > longestFile
      ? [{ path, line: 1, severity: "medium", message: `a file of ${totalLines} lines wants splitting` }]
      : [];
  return scripts.test(path)
    ? [...long, ...found, ...longFunctions(path, lines), ...undocumented(path, lines)]
    : [...long, ...found];
}

const functionStart = /^(\s*)(?:export\s+)?(?:async\s+)?function\s*\*?\s*(\w+)/;

/** A function ends with the closing brace at its own indentation. */
function longFunctions(path: string, lines: readonly string[]): readonly Finding[] {
  return lines.flatMap((content, start): readonly Finding[] => {
    const [, indent, name] = functionStart.exec(content) ?? [];
    if (indent === undefined) return [];
    const length = lines.slice(start + 1).findIndex((line) => line.startsWith(`${indent}}`)) + 2;
    if (length <= longestFunction) return [];
    return [{ path, line: start + 1, severity: "medium", message: `${name} is ${length} lines long` }];
  });
}

const exported = /^export (?:async )?(?:abstract )?(function|class|interface|type|const) (\w+)/;

/** Exported functions and classes without a comment above them. */
function undocumented(path: string, lines: readonly string[]): readonly Finding[] {
  return lines.flatMap((content, index): readonly Finding[] => {
    const [, kind, name] = exported.exec(content) ?? [];
    const above = lines[index - 1]?.trim() ?? "";
    const documented = above.endsWith("*/") || above.startsWith("//") || above.startsWith("@");
    if ((kind !== "function" && kind !== "class") || documented) return [];
    return [{ path, line: index + 1, severity: "low", message: `the exported ${kind} ${name} has no documentation` }];
  });
}
