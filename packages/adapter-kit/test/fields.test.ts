import { listAt, objectAt, textAt } from "@proviso/adapter-kit";
import { expect, test } from "vitest";

const answer = { text: "a", object: { key: 1 }, list: [{ a: 1 }, null, "b", [1], { c: 2 }], number: 7 };

test("PRO-3 a field of the kind that is asked for", () => {
  expect(textAt(answer, "text")).toBe("a");
  expect(objectAt(answer, "object")).toBe(answer.object);
  expect(listAt(answer, "list")).toEqual([{ a: 1 }, { c: 2 }]);
});

test.each([undefined, null, "text", 7, [], {}, answer])("PRO-3 of %o nothing else is taken", (given) => {
  expect(textAt(given, "number")).toBe("");
  expect(objectAt(given, "list")).toEqual({});
  expect(listAt(given, "object")).toEqual([]);
});
