import { expect, test } from "vitest";
import { createRecord, type Operation } from "../src/actors/record.ts";
import { openBook } from "../src/checks.ts";

function twoCalls(overlaps: string | undefined) {
  const book = openBook();
  const record = createRecord(book);
  const store = record.store("session");
  const [viewer, other] = [record.begin(undefined, { overlaps }), record.begin(undefined, { overlaps })];
  record.did(store, viewer, "mine");
  record.did(store, other, "theirs");
  const sees = (...texts: readonly string[]): readonly string[] => {
    record.sees(viewer, store, texts);
    return book.violations.splice(0);
  };
  return { record, other: other as Operation, sees };
}

test("TX-2 of a call that overlaps and has failed a viewer may see what it did or not, until its failure is reported", () => {
  const { record, other, sees } = twoCalls("turn");
  expect(sees("mine", "theirs")).toEqual([]);
  expect(sees("mine")).toHaveLength(1);
  other.failing = true;
  expect(sees("mine", "theirs")).toEqual([]);
  expect(sees("mine")).toEqual([]);
  expect(sees("theirs")).not.toEqual([]);
  expect(sees("mine", "theirs", "more")).not.toEqual([]);
  record.undo(other);
  expect(sees("mine")).toEqual([]);
  expect(sees("mine", "theirs")).not.toEqual([]);
});

test("TX-2 what a call that does not overlap did is seen until it is undone, whether it has failed or not", () => {
  const { other, sees } = twoCalls(undefined);
  other.ended = true;
  expect(sees("mine", "theirs")).toEqual([]);
  other.failing = true;
  expect(sees("mine")).not.toEqual([]);
});
