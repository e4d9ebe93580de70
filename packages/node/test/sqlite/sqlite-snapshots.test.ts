import { isSnapshotable, type Resources, type Snapshotable } from "@proviso/core";
import { sqliteResource, type SqliteDatabase } from "@proviso/node";
import fc from "fast-check";
import { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";

const seed = 20_261_121;

type Step =
  | { readonly kind: "snapshot" }
  | { readonly kind: "write"; readonly value: number }
  | { readonly kind: "fail" }
  | { readonly kind: "restore" | "release"; readonly which: number };

const which = fc.nat({ max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Step>({ kind: "snapshot" }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("write" as const), value: fc.nat({ max: 99 }) }) },
  fc.constant<Step>({ kind: "fail" }),
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("restore" as const), which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("release" as const), which }) },
);

function opened(database: DatabaseSync): SqliteDatabase & Snapshotable<object> {
  const binding = sqliteResource(database);
  const made: unknown = binding.create({} as Resources);
  expect(isSnapshotable(made)).toBe(true);
  return made as SqliteDatabase & Snapshotable<object>;
}

test("RES-3 snapshots in any order: restored rows are the model's, and released ones are committed at the end", () => {
  let restores = 0;
  const property = fc.property(fc.array(step, { minLength: 4, maxLength: 40 }), (steps) => {
    using database = new DatabaseSync(":memory:");
    database.exec("CREATE TABLE values_ (value INTEGER CHECK (value < 100))");
    const mine = opened(database);
    let state: readonly number[] = [];
    let marks: { readonly snapshot: object; state: readonly number[] }[] = [];
    for (const given of steps) {
      if (given.kind === "write") {
        mine.run("INSERT INTO values_ VALUES (?)", given.value);
        state = [...state, given.value];
      } else if (given.kind === "fail") {
        expect(() => mine.run("INSERT INTO values_ VALUES (1), (100)")).toThrow("CHECK");
      } else if (given.kind === "snapshot") {
        marks.push({ snapshot: mine.snapshot() as object, state });
      } else if (marks.length > 0) {
        const at = given.which % marks.length;
        const mark = marks[at] as (typeof marks)[number];
        if (given.kind === "release") {
          void mine.release?.(mark.snapshot);
          marks = marks.filter((each) => each !== mark);
          expect(() => mine.restore(mark.snapshot)).toThrow("released");
        } else {
          void mine.restore(mark.snapshot);
          restores++;
          ({ state } = mark);
          // What came after it is undone: later marks stand for the same.
          for (const later of marks.slice(at)) later.state = state;
        }
      }
      expect(mine.all<{ value: number }>("SELECT value FROM values_ ORDER BY rowid").map(({ value }) => value)).toEqual(
        state,
      );
      expect(database.isTransaction).toBe(marks.length > 0);
    }
    for (const { snapshot } of marks) void mine.release?.(snapshot);
    expect(database.isTransaction).toBe(false);
    expect(
      database
        .prepare("SELECT value FROM values_ ORDER BY rowid")
        .all()
        .map((row) => row["value"]),
    ).toEqual(state);
  });
  fc.assert(property, { seed, numRuns: 500 });
  expect(restores).toBeGreaterThan(250);
});
