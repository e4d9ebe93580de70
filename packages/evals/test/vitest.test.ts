import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { defineEval, formatJUnit, runEval } from "@proviso/evals";
import { describeEval } from "@proviso/evals/vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const base = {
  data: mails(60),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  variants: { money: { adapter: wordList(["money"]) }, win: { adapter: wordList(["Win"]) } },
  scorers: {
    correct: ({ row, output }: { readonly row: Mail; readonly output: { readonly label: string } }) =>
      output.label === row.label,
  },
};

// These suites pass in this very file: a test for each gate, and one that every attempt is scored.
describeEval(defineEval({ ...base, name: "evl-52", gates: { correct: { atLeast: 0.5, noWorseBy: 0.02 } } }));
describeEval(defineEval({ ...base, name: "evl-52-without-gates" }));

interface Suite {
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: readonly {
    readonly ancestorTitles: readonly string[];
    readonly title: string;
    readonly status: string;
    readonly failureMessages: readonly string[];
  }[];
}

/** Runs the suites of the file in a vitest of their own, and returns what its JSON report says of them. */
async function reportOfSuites(file: string): Promise<Suite> {
  const folder = join(import.meta.dirname, "processes");
  const cli = join(import.meta.dirname, "../../../node_modules/vitest/vitest.mjs");
  const report = join(await mkdtemp(join(tmpdir(), "proviso-evals-")), "report.json");
  const args = [cli, "run", "--config", join(folder, "nested.config.ts"), `--outputFile=${report}`, file];
  const { VITEST: _one, VITEST_JSON_REPORT: _two, ...env } = process.env;
  // It exits with 1, for tests of it fail.
  await new Promise<void>((resolve) => {
    execFile(
      process.execPath,
      args,
      { env: { ...env, FROM_SOURCES: JSON.stringify(fromSources) }, timeout: 300_000 },
      () => resolve(),
    );
  });
  const { testResults } = JSON.parse(await readFile(report, "utf8")) as { readonly testResults: readonly Suite[] };
  await rm(dirname(report), { recursive: true });
  return testResults[0] as Suite;
}

test("EVL-52 a test for each gate and one that every attempt is scored, whose messages have the interval or the reason", async () => {
  const { assertionResults } = await reportOfSuites("gates.suite.ts");
  const of = (suite: string) =>
    assertionResults
      .filter(({ ancestorTitles }) => ancestorTitles.includes(suite))
      .map(({ title, status, failureMessages }) => [title, status, failureMessages.join().split("\n    at ")[0]]);
  expect(of("gates")).toEqual([
    [
      "correct at least 0.9   money",
      "failed",
      expect.stringContaining("correct at least 0.9   money  unsettled: 0.702 … 0.943"),
    ],
    ["correct at least 0.9   win", "passed", ""],
    ["correct no worse by 0.02   win", "passed", ""],
    ["every attempt is scored", "passed", ""],
  ]);
  expect(of("unscored")).toEqual([
    [
      "every attempt is scored",
      "failed",
      expect.stringMatching(/m7 money: broken is unscored: The instrument is broken\.\nm7 win: /u),
    ],
  ]);
  // The tests of a part are those of its gates.
  expect(of("a-part")).toEqual([
    ["correct at least 0.9   win", "passed", ""],
    ["every attempt is scored", "passed", ""],
  ]);
  // An attempt that was not made is not scored.
  expect(of("cut-short")).toEqual([
    ["every attempt is scored", "failed", expect.stringMatching(/ended early \(budget\) with \d+ attempts not made/u)],
  ]);
  // Where the surroundings failed each attempt, nothing was scored but the worst value.
  expect(of("service-down")).toEqual([
    ["correct at least 0.1   win", "passed", ""],
    ["correct at least 0.1   down", "passed", ""],
    [
      "every attempt is scored",
      "failed",
      expect.stringMatching(/Nothing was measured of "down": .*all 4 attempts.*server_error.*: Service down\./u),
    ],
  ]);
  const [[, status] = []] = of("too-slow");
  expect(status).not.toBe("passed");
});

test("EVL-52 what defineEval did not make is refused where tests are collected", () => {
  expect(() => describeEval({ name: "made up" } as never)).toThrow("An eval is made by defineEval");
});

/** Reads XML strictly: names, attributes and texts by element. Throws for what is not well-formed. */
function elementsOf(xml: string): readonly { readonly name: string; readonly attributes: Record<string, string> }[] {
  const elements: { name: string; attributes: Record<string, string> }[] = [];
  const open: string[] = [];
  const body = xml.replace(/^<\?xml version="1.0" encoding="UTF-8"\?>\n/u, "");
  const token =
    /<(\/?)([a-z-]+)((?: [a-z]+="[^"<&]*(?:&(?:amp|lt|gt|quot);[^"<&]*)*")*)(\/?)>|([^<&]|&(?:amp|lt|gt|quot);)/gsuy;
  while (token.lastIndex < body.length) {
    const at = token.lastIndex;
    const match = token.exec(body);
    if (match === null) throw new Error(`No XML at ${at}: ${body.slice(at, at + 40)}`);
    const [, closing, name = "", given = "", empty] = match;
    if (name === "") continue;
    if (closing === "/") expect(open.pop()).toBe(name);
    else if (empty !== "/") open.push(name);
    if (closing !== "/")
      elements.push({
        name,
        attributes: Object.fromEntries(
          [...given.matchAll(/ ([a-z]+)="([^"]*)"/gu)].map(([, key, value]) => [key, value]),
        ),
      });
  }
  expect(open).toEqual([]);
  return elements;
}

test("EVL-52 JUnit has a test for each gate, and the attempts as its output", async () => {
  const of = defineEval({ ...base, name: "spam", gates: { correct: { atLeast: 0.99, noWorseBy: 0.02 } } });
  const xml = formatJUnit(await runEval(of));
  const elements = elementsOf(xml);
  expect(elements.filter(({ name }) => name === "testcase").map(({ attributes }) => attributes["name"])).toEqual([
    "correct at least 0.99   money",
    "correct at least 0.99   win",
    "correct no worse by 0.02   win",
    "every attempt is scored",
  ]);
  expect(elements.find(({ name }) => name === "testsuite")?.attributes).toMatchObject({ tests: "4", failures: "1" });
  expect(elements.find(({ name }) => name === "failure")?.attributes["message"]).toMatch(/money {2}failed: 0\.7/u);
  expect(xml.match(/m\d+ · (?:money|win) · 1 {3}correct [01]/gu)).toHaveLength(120);
});

test("EVL-52 JUnit of hostile names and messages is well-formed XML without texts of rows", async () => {
  const hostile = ']]>&"<b>\u0000\u001b[31m\uD800\uFFFE\u0085\nnext';
  const data = [
    { id: hostile.toWellFormed(), text: "The text of the row is private.", label: "ham" as const },
    { id: "m1", text: "Another private text.", label: "ham" as const },
  ];
  const adapter = answering(() => new Error(hostile));
  const scorers = {
    correct: { score: () => true, scoreFailure: () => ({ value: 0.5, reason: hostile }) },
    broken: { score: () => true, scoreFailure: () => Promise.reject(new Error(hostile)) },
  };
  const of = defineEval({
    name: "spam",
    data,
    prompt: base.prompt,
    adapter,
    scorers,
    gates: { correct: { atLeast: 1 } },
  });
  const xml = formatJUnit(await runEval(of));
  elementsOf(xml);
  // oxlint-disable-next-line no-control-regex -- What XML 1.0 has not.
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/u);
  expect(xml.isWellFormed()).toBe(true);
  expect(xml).not.toContain("private");
  expect(xml).toContain("failed with api_key_error");
});
