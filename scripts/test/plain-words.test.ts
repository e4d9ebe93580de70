import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commentFaults, nameFaults, wordFaults } from "../lint/plain-words.mjs";
import { root } from "../packages.ts";

const pages = [
  "{README,CONTRIBUTING}.md",
  "docs/*.md",
  "specs/*.md",
  "{packages,examples}/*/README.md",
  "{bench,simulation}/README.md",
];

test.each(globSync(pages, { cwd: root }))("DOC-17 the words of %s are plain", (page) => {
  const [prose = "", ...rest] = readFileSync(join(root, page), "utf8").split(/^```/m);
  const outsideOfCode = [prose, ...rest.filter((_, at) => at % 2 === 1)];
  expect(outsideOfCode.flatMap(wordFaults)).toEqual([]);
});

test.each([
  ["For whoever takes options now.", ["For", "whoever"]],
  ["The same, at once where the schema is.", ["The same"]],
  ["As it was given.", ["As"]],
  ["It may be over already.", ["It"]],
  ["Its own, then its parents'.", ["Its"]],
  ["Which limit of a budget was passed.", ["Which"]],
  ["Given: stream.", ["Given:"]],
  ["Default 64.", ["Default"]],
  ["Left out: OPENAI_API_KEY.", ["Left out:"]],
  ["-2 to 2.", ["-2 to "]],
  ["All that it said, in order.", ["All that", "said"]],
  ["One for each request.", ["One for"]],
  ["Up to the first line.", ["Up to"]],
  ["Fires when nobody waits for it.", ["nobody"]],
  ["What a stream told instead of an answer.", ["told"]],
  ["A message of what is none.", ["what is none"]],
])("DOC-17 the comment %j is refused", (comment, words) => {
  const found = commentFaults(comment).map((fault) => /"([^"]*)"/.exec(fault)?.[1]);
  expect(found).toEqual(words);
});

test.each([
  "Returns an unsubscribe function.",
  "Milliseconds for one request. Default 10 minutes.",
  "undefined: the provider's own default.",
  "Whether the answers report their cost.",
  "One request in, one answer out.",
  "In-memory stores need no file.",
  "All waits of one request together.",
  "Each event has a number.",
  'Quotes `told` and `"nobody"` as code.',
  "Somewhat foretold, unsaid and overheard words are no speech verbs.",
])("DOC-17 the comment %j is accepted", (comment) => {
  expect(commentFaults(comment)).toEqual([]);
});

test.each([
  ["heardAt", false],
  ["toldUsage", false],
  ["wasTold", false],
  ["hear_chunk", false],
  ["nobody", false],
  ["theard", true],
  ["hearing", false],
  ["shearLength", true],
  ["stellar", true],
  ["saidToken", false],
])("DOC-17 the name %s", (name, isPlain) => {
  expect(nameFaults(name).length === 0).toBe(isPlain);
});

test("DOC-17 a fault names the word and what to write instead", () => {
  expect(wordFaults("the model is told of it")).toEqual([
    '"told" is for people: data is sent, emitted, passed, returned, received, reported or shown.',
  ]);
});
