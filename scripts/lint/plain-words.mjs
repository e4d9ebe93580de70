/**
 * `proviso/plain-words`: comments, names and titles of tests are plain English. A docstring begins with its subject or
 * its verb, components emit, return and receive, and only people are somebody. The list is short on purpose: each word
 * in it has a plainer one, and a false alarm costs more than a miss.
 */

const people = 'is for people: name the component, or write "no …", "any …" or "whatever …"';
const speech = "is for people: data is sent, emitted, passed, returned, received, reported or shown";

/** Each with what to write instead. */
const bannedWords = [
  [/\b(?:who(?:m|so)?ever|nobody|somebody|anybody|everybody)\b/i, people],
  [/\b(?:(?:un)?told|tells?|(?:un)?heard|hears?|hearing|said)\b/i, speech],
  [/\bwhat is none\b/i, 'is a riddle: name the kind, as in "anything that is not a …"'],
  [/\bto the letter\b/i, 'is "exactly"'],
];

const subject = "a sentence needs its subject: name the thing";
const fragment = "this is a fragment: begin with what the thing is or does";

/** Each with what to write instead. Looked for at the beginning of a comment. */
const bannedBeginnings = [
  [/^the same\b/i, 'name what it is the same as: "Like `other`, but …"'],
  [/^given:/i, 'write "If set, …"'],
  [/^(?:default|left out:|-?\d+(?:\.\d+)? to )/i, "begin with what the value is, then its range and its default"],
  [
    /^(?:about|after|against|among|as|at|before|behind|below|beside|besides|between|beyond|by|during|for|from|in|inside|into|of|off|on|onto|out of|outside|over|per|since|through|to|towards?|under|until|up to|upon|with|within|without)\b(?!-)/i,
    fragment,
  ],
  [/^(?:he|she|it|its|they|their|them|these|those|this|that|which|whose|who|others|mine|theirs|such)\b/i, subject],
  [
    /^(?:one|ones|all|some|both|each|any|most|none|many|few|another) (?:of|that|which|who|to|for|as|is|are|may|can)\b/i,
    subject,
  ],
];

/** A title starts with ids of rules: "TX-1 LOOP-2b ". */
const ruleIds = /^(?:[A-Z]{2,}-\d+[a-z]?,? )+/;
const codeSpans = /`[^`]*`/g;

/** @returns what is wrong with the words of a text, one line a fault. */
export function wordFaults(text) {
  const words = text.replace(codeSpans, "``");
  return bannedWords.flatMap(([pattern, why]) => {
    const found = pattern.exec(words);
    return found === null ? [] : [`"${found[0]}" ${why}.`];
  });
}

/** @returns what is wrong with a comment: its words, and how it begins. */
export function commentFaults(text) {
  const begun = text.trim();
  const faults = wordFaults(begun);
  for (const [pattern, why] of bannedBeginnings) {
    const found = pattern.exec(begun);
    if (found !== null) return [`begins with "${found[0]}": ${why}.`, ...faults];
  }
  return faults;
}

/** @returns what is wrong with the words that an identifier is made of: "toldText" is "told text". */
export function nameFaults(name) {
  return wordFaults(name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replaceAll("_", " "));
}

/** The text of a comment without stars and slashes. */
function textOf(comment) {
  return comment.value.replace(/^\*/, "").replace(/\n\s*\* ?/g, "\n");
}

/** Comments in a row of `//` lines are one text; a comment behind code is one of its own. */
function joinedComments(sourceCode) {
  const joined = [];
  for (const comment of sourceCode.getAllComments()) {
    const last = joined.at(-1);
    const isNext =
      last !== undefined &&
      comment.type === "Line" &&
      last.type === "Line" &&
      last.endLine + 1 === comment.loc.start.line &&
      last.column === comment.loc.start.column;
    if (isNext) {
      last.text += `\n${textOf(comment)}`;
      last.endLine = comment.loc.end.line;
      continue;
    }
    const { start, end } = comment.loc;
    joined.push({ type: comment.type, text: textOf(comment), node: comment, endLine: end.line, column: start.column });
  }
  return joined;
}

/** Directives of tools, and comments that name a type for the compiler. */
const directive = /^\s*(?:oxlint|eslint|v8 ignore|@ts-|@__PURE__|#__PURE__|\/)/;

export const plainWords = {
  meta: { type: "suggestion", schema: [] },
  create(context) {
    return {
      Program() {
        for (const { text, node } of joinedComments(context.sourceCode)) {
          if (directive.test(text)) continue;
          for (const fault of commentFaults(text)) context.report({ node, message: `Plain words: ${fault}` });
        }
      },
      Identifier(node) {
        for (const fault of nameFaults(node.name)) context.report({ node, message: `Plain words: ${fault}` });
      },
    };
  },
};

const testFunctions = new Set(["it", "test", "describe"]);

/** @returns "test" for `test(…)`, `test.skip(…)`, `test.each(…)(…)` and `test.for(…)(…)`, else undefined. */
function testFunctionOf(callee) {
  if (callee.type === "Identifier") return testFunctions.has(callee.name) ? callee.name : undefined;
  if (callee.type === "MemberExpression") return testFunctionOf(callee.object);
  return callee.type === "CallExpression" ? testFunctionOf(callee.callee) : undefined;
}

function textOfTitle(node) {
  if (node.type === "TemplateLiteral") return node.quasis.map(({ value }) => value.cooked).join("x");
  return node.type === "Literal" && typeof node.value === "string" ? node.value : "";
}

export const plainTitles = {
  meta: { type: "suggestion", schema: [] },
  create(context) {
    const check = (title) => {
      for (const fault of wordFaults(textOfTitle(title).replace(ruleIds, ""))) {
        context.report({ node: title, message: `Plain words: ${fault}` });
      }
    };
    return {
      CallExpression({ callee, arguments: [title] }) {
        if (title !== undefined && testFunctionOf(callee) !== undefined) check(title);
      },
      // The cases of the conformance suite.
      Property({ key, value }) {
        if (key.type === "Identifier" && key.name === "title") check(value);
      },
    };
  },
};
