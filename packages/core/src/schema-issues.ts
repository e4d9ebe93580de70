import type { SchemaIssue } from "./schema-issue.ts";
import type { StandardIssue } from "./standard-schema.ts";
import { isNonNullObject } from "./values.ts";

const mostDescribed = 20;
/** UTF-16 units: of a path in an issue, and of a path and a message that are described. */
const longestPath = 1_000;
const longestShownPath = 200;
const longestMessage = 1_000;

/**
 * An issue as a library returned it. Not every schema keeps to the standard: a text stands for its message, and a path that
 * is a text or a number is taken as it is.
 */
export function issueOf(returned: unknown): SchemaIssue {
  const { path, message } = isNonNullObject(returned) ? (returned as Partial<StandardIssue>) : { message: returned };
  return {
    path: Array.isArray(path) ? pathText(path) : pathText(isKey(path) ? [path] : []),
    message: typeof message === "string" && message !== "" ? message : "the schema refuses it, and does not say why",
  };
}

function isKey(value: unknown): value is PropertyKey {
  return typeof value === "string" || typeof value === "number" || typeof value === "symbol";
}

/** Keys with dots between: not put together beyond what is shown, for a key may be as long as the whole text. */
export function pathText(path: readonly unknown[]): string {
  let text = "";
  for (const [index, part] of path.entries()) {
    if (text.length > longestPath) break;
    const key = String(isNonNullObject(part) ? (part as { readonly key?: unknown }).key : part);
    text += index === 0 ? key : `.${key}`;
  }
  return shortened(text, longestPath);
}

/**
 * "path: message; path: message", as a model or a person reads it: the first 20, and how many more there are. A path is
 * cut at 200 characters, a message at 1,000. `unlisted` counts issues that the list leaves out. Default 0. What follows
 * ends the sentence: a message's own full stop is left out.
 */
export function describeIssues(issues: readonly SchemaIssue[], unlisted = 0): string {
  const described = issues.slice(0, mostDescribed).map(({ path, message }) => {
    const cut = shortened(message, longestMessage).replace(/(?<!\.)\.$/u, "");
    return path === "" ? cut : `${shortened(path, longestShownPath)}: ${cut}`;
  });
  const more = issues.length - described.length + unlisted;
  return [...described, ...(more > 0 ? [`and ${more.toLocaleString("en-US")} more`] : [])].join("; ");
}

function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`;
}
