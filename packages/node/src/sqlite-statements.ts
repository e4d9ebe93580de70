// What a call may not run, because its changes could not be undone any more, or would be undone without its knowledge.
// SQLite's authorizer is not used: the application may have its own, it does not see OR ROLLBACK, and Node has it from
// 24.10 on only.

import { tokensOf } from "./sqlite-tokens.ts";

/** SQLite reads a statement at a stretch, and no deadline stops it. A literal is one token, however long. */
const mostTokens = 50_000;

/** Why a script may not run in a call; undefined where it may. */
export function refusalOf(sql: string): string | undefined {
  const statements = statementsOf(sql, mostTokens);
  if (statements === undefined) return "it has more than 50,000 tokens; give values as parameters, or in several texts";
  for (const explained of statements) {
    // A PRAGMA has its effect even when it is only explained.
    const words = withoutExplain(explained);
    const why = refusedStatement(words) ?? undoneBehind(words);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** Why a schema cannot take part in transactions. */
export function schemaRefusal(sql: string): string | undefined {
  for (const words of statementsOf(sql)) {
    const why = undoneBehind(words);
    if (why !== undefined) return why;
  }
  return undefined;
}

/** The word of a script that would begin or end a transaction; undefined where there is none. */
export function transactionWordOf(script: string): string | undefined {
  return statementsOf(script)
    .map(([first = ""]) => first)
    .find((first) => transactionWords.has(first));
}

const transactionWords = new Set(["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"]);
const databaseWords = new Set(["ATTACH", "DETACH", "VACUUM"]);
/** Pragmas that only read, or that change what a rollback undoes. Source: https://www.sqlite.org/pragma.html */
const pragmas = new Set(
  (
    "APPLICATION_ID COLLATION_LIST COMPILE_OPTIONS DATABASE_LIST DATA_VERSION FOREIGN_KEY_CHECK FOREIGN_KEY_LIST " +
    "FREELIST_COUNT FUNCTION_LIST INDEX_INFO INDEX_LIST INDEX_XINFO INTEGRITY_CHECK MODULE_LIST PAGE_COUNT " +
    "PRAGMA_LIST QUICK_CHECK TABLE_INFO TABLE_LIST TABLE_XINFO USER_VERSION"
  ).split(" "),
);

function refusedStatement(words: readonly string[]): string | undefined {
  const [first = ""] = words;
  if (transactionWords.has(first)) return `${first} is not for a tool: its call is a transaction already`;
  if (databaseWords.has(first)) return `${first} cannot be undone with the call`;
  if (first !== "PRAGMA") return undefined;
  const name = words[2] === "." ? words[3] : words[1];
  return pragmas.has(name ?? "") ? undefined : `PRAGMA ${name ?? ""} cannot be undone with the call`;
}

function undoneBehind(words: readonly string[]): string | undefined {
  for (const [at, word] of words.entries()) {
    const before = words[at - 1];
    if (word === "DEFERRED" && before === "INITIALLY") {
      return "INITIALLY DEFERRED is checked after the call was reported as done";
    }
    const inClause = before === "OR" || before === "CONFLICT" || (before === "(" && words[at - 2] === "RAISE");
    if (word === "ROLLBACK" && inClause) return "ROLLBACK on a conflict undoes more than the statement: use ABORT";
  }
  return undefined;
}

/**
 * The tokens of each statement; statements end with a semicolon, a trigger's with END.
 * Source: https://www.sqlite.org/lang_createtrigger.html
 */
function statementsOf(sql: string): readonly (readonly string[])[];
/** undefined: it has more tokens than that. */
function statementsOf(sql: string, most: number): readonly (readonly string[])[] | undefined;
function statementsOf(sql: string, most = Infinity): readonly (readonly string[])[] | undefined {
  const statements: string[][] = [];
  let words: string[] = [];
  let left = most;
  for (const token of tokensOf(sql)) {
    if (left-- === 0) return undefined;
    if (token === ";" && !(isTrigger(words) && !(words.at(-1) === "END" && words.at(-2) === ";"))) {
      statements.push(words);
      words = [];
    } else words.push(token);
  }
  return [...statements, words].filter((each) => each.length > 0);
}

/** The most words that are needed to know what a statement is: EXPLAIN QUERY PLAN CREATE TEMP TRIGGER. */
const longestBeginning = 6;

function isTrigger(words: readonly string[]): boolean {
  const [create, second, third] = withoutExplain(words.slice(0, longestBeginning));
  if (create !== "CREATE") return false;
  return second === "TRIGGER" || ((second === "TEMP" || second === "TEMPORARY") && third === "TRIGGER");
}

function withoutExplain(words: readonly string[]): readonly string[] {
  if (words[0] !== "EXPLAIN") return words;
  return words.slice(words[1] === "QUERY" ? 3 : 1);
}
