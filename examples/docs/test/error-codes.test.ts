import { readFileSync } from "node:fs";
import type { EvaluationFailure } from "@proviso/core";
import type { FinishReason } from "@proviso/core/provider";
import { expect, test } from "vitest";

// A code that is new does not compile here until it is added.
const codes: Record<EvaluationFailure["code"], true> = {
  option: true,
  render: true,
  throttled: true,
  provider: true,
  output: true,
  deadline: true,
  budget: true,
  turns: true,
  aborted: true,
  listener: true,
  process: true,
  restore: true,
  deadlock: true,
  internal: true,
  run: true,
};

test("DOC-16 the guide of errors has a row for each code, so that a switch over them can be written from it", () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8");
  const [, table = ""] = /\n\| `code` .*\n\|[-|]+\n((?:\|.*\n)+)/u.exec(page) ?? [];
  const told = table.split("\n").flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`(\w+)`/gu)]);
  expect(new Set(told.map(([, code]) => code))).toEqual(new Set(Object.keys(codes)));
});

// A reason that is new does not compile here until it is added.
const reasons: Record<FinishReason, true> = {
  stop: true,
  length: true,
  "content-filter": true,
  "tool-calls": true,
  paused: true,
  other: true,
};

test("the guide of commands names each finish reason that a command may print", () => {
  const page = readFileSync(new URL("../../../docs/command-line.md", import.meta.url), "utf8");
  const [row = ""] = /^.*`finishReason`.*$/mu.exec(page) ?? [];
  expect([...row.matchAll(/"([^"]+)"/gu)].map(([, reason]) => reason)).toEqual(Object.keys(reasons));
});
