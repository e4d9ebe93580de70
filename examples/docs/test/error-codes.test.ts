import { readFileSync } from "node:fs";
import type { EvaluationFailure } from "@proviso/core";
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
