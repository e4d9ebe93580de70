import { DefinitionError } from "@proviso/core";
import { applyStatePatch, statePatch } from "@proviso/runtime";
import fc from "fast-check";
import { expect, it } from "vitest";

const json = fc.jsonValue({ maxDepth: 4 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);

it("VIEW-7 a patch makes the state after of the state before, and leaves that alone", () => {
  fc.assert(
    fc.property(json, json, (before, after) => {
      const text = JSON.stringify(before);
      const patch = statePatch(before, after);
      expect(applyStatePatch(before, patch)).toEqual(after);
      expect(JSON.stringify(before)).toBe(text);
      expect(statePatch(after, structuredClone(after))).toEqual([]);
      // A patch survives being written.
      expect(applyStatePatch(before, JSON.parse(JSON.stringify(patch)) as typeof patch)).toEqual(after);
    }),
    { numRuns: 500, seed: 7 },
  );
});

it("VIEW-7 one item of a long list is one operation", () => {
  const items = Array.from({ length: 1_000 }, (_, n) => ({ n, "a/b~": false }));
  const changed = items.with(500, { n: 500, "a/b~": true });
  expect(statePatch({ items }, { items: changed })).toEqual([
    { op: "replace", path: "/items/500/a~1b~0", value: true },
  ]);
  expect(statePatch(items, items.toSpliced(3, 1))).toEqual([{ op: "remove", path: "/3" }]);
  expect(statePatch(items, items.toSpliced(3, 0, items[0]!))).toEqual([{ op: "add", path: "/3", value: items[0] }]);
});

it.each([
  [{}, [{ op: "replace", path: "/a", value: 1 }]],
  [{}, [{ op: "remove", path: "/a/b" }]],
  [[], [{ op: "replace", path: "/0", value: 1 }]],
  [[], [{ op: "add", path: "/1", value: 1 }]],
  [[1], [{ op: "remove", path: "/01" }]],
  [{}, [{ op: "add", path: "/__proto__", value: 1 }]],
  [{}, [{ op: "add", path: "/constructor/prototype", value: 1 }]],
  ["text", [{ op: "add", path: "/0", value: 1 }]],
  [{}, [{ op: "remove", path: "" }]],
  [{}, [{ op: "add", path: "a", value: 1 }]],
] as const)("VIEW-7 a patch that does not fit %j is refused: %j", (before, patch) => {
  expect(() => applyStatePatch(before, patch)).toThrow(DefinitionError);
});
