import { expect, test } from "vitest";
import { hiddenField } from "../src/hidden-field.ts";

test.each([
  ["an object", () => ({})],
  ["a frozen object", () => Object.freeze({})],
])("RES-1 LIM-5 what is kept with %s is found again, there alone, and can be replaced", (_, make) => {
  const field = hiddenField<string>();
  const [one, other] = [make(), make()];
  expect(field.of(one)).toBeUndefined();
  field.set(one, "first");
  field.set(one, "second");
  expect([field.of(one), field.of(other), hiddenField<string>().of(one)]).toEqual(["second", undefined, undefined]);
});

test("RES-1 LIM-5 it stays with an object that is frozen later", () => {
  const field = hiddenField<number>();
  const object = {};
  field.set(object, 1);
  Object.freeze(object);
  expect(field.of(object)).toBe(1);
});
