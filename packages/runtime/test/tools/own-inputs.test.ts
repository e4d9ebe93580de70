import { allow, definePolicy, defineTool, type ToolPolicy } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptOf } from "./support.ts";

class Money {
  amount: number;
  constructor(amount: number) {
    this.amount = amount;
  }
}

/** JSON Schema has no dates: a Date comes of a transform, or of a policy that gives one. */
const date = z.unknown().transform((given) => (given instanceof Date ? given : new Date(String(given))));
const day = "2026-01-02T00:00:00.000Z";
/** What a schema makes of JSON, and how somebody who has it changes it in place. */
const kinds: readonly (readonly [string, z.ZodType, unknown, (value: never) => void, (value: never) => unknown])[] = [
  ["a Date", date, day, (date: Date) => date.setFullYear(2099), (date: Date) => date.toISOString()],
  [
    "a Date in a list in an object",
    z.object({ list: z.array(date) }),
    { list: [day] },
    ({ list }: { list: Date[] }) => list[0]?.setFullYear(2099),
    ({ list }: { list: Date[] }) => list[0]?.toISOString(),
  ],
  [
    "bytes",
    z.string().transform((text) => new TextEncoder().encode(text)),
    "abc",
    (bytes: Uint8Array) => bytes.fill(0),
    (bytes: Uint8Array) => new TextDecoder().decode(bytes),
  ],
  [
    "a Map",
    z.record(z.string(), date).transform((all) => new Map(Object.entries(all))),
    { a: day },
    (map: Map<string, Date>) => {
      map.get("a")?.setFullYear(2099);
      Map.prototype.set.call(map, "b", new Date(0));
    },
    (map: Map<string, Date>) => [...map].map(([key, date]) => [key, date.toISOString()]),
  ],
  [
    "a Set",
    z.array(z.string()).transform((all) => new Set(all)),
    ["a"],
    (set: Set<string>) => Set.prototype.add.call(set, "b"),
    (set: Set<string>) => [...set],
  ],
];

interface Ran {
  readonly got: unknown[];
  readonly params: unknown;
  readonly message: string | undefined;
}

async function run(
  schema: z.ZodType,
  value: unknown,
  policies: readonly ToolPolicy[],
  look: (value: never) => unknown,
): Promise<Ran> {
  const got: unknown[] = [];
  const tool = defineTool({
    name: "pay",
    description: "Pays.",
    input: z.object({ value: schema }),
    execute: ({ value: given }) => void got.push(look(given as never)),
  });
  const model = scriptedModel([{ toolCalls: [{ name: "pay", arguments: { value } }] }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [tool] }), {
    policies,
  });
  const { params, result } = toolResults[0] ?? {};
  return { got, params, message: result?.message };
}

test.each(kinds)(
  "TOOL-14 %s that an approver changes in place is none that is recorded or that runs",
  async (_, schema, value, change, look) => {
    const untouched = await run(schema, value, [], look);
    const forging = (kind: "check" | "approve") =>
      definePolicy({
        name: kind,
        [kind](call: { input: unknown }) {
          const { value: given } = call.input as { value: never };
          change(given);
          // Later, too: somebody may keep it.
          queueMicrotask(() => change(given));
          return allow();
        },
      } as unknown as ToolPolicy);
    for (const policies of [
      [forging("approve")],
      [forging("check")],
      [forging("check"), forging("approve"), forging("approve")],
    ]) {
      expect(await run(schema, value, policies, look)).toEqual(untouched);
    }
  },
);

test("TOOL-14 what a handler changes of its own Date is not recorded", async () => {
  const { got, params } = await run(date, day, [], (date: Date) => {
    date.setFullYear(2099);
    return date.getFullYear();
  });
  expect([got, params]).toEqual([[2099], { value: day }]);
});

test("TOOL-14 an input that an approver gives in place of another is its own no longer", async () => {
  const mine = new Date(0);
  const giving = definePolicy({ name: "giving", approve: () => allow({ value: mine }) });
  const late = definePolicy({
    name: "late",
    approve() {
      mine.setFullYear(2099);
      return allow();
    },
  });
  const { got } = await run(date, day, [giving, late], (given: Date) => given.toISOString());
  expect(got).toEqual([new Date(0).toISOString()]);
});

test("TOOL-14 TOOL-10 a check that gives the same Date again after the approval has changed nothing", async () => {
  const again = definePolicy({ name: "again", check: ({ input }) => allow(input) });
  const approver = definePolicy({ name: "approver", approve: () => allow() });
  const { got, message } = await run(date, day, [again, approver], (given: Date) => given.toISOString());
  expect([got, message]).toEqual([[day], ""]);
});

test.each<readonly [string, z.ZodType, unknown, unknown]>([
  ["a Date", date, day, new Date(0)],
  ["a Date in a list in an object", z.object({ list: z.array(date) }), { list: [day] }, { list: [new Date(0)] }],
  [
    "bytes",
    z.unknown().transform((given) => (given instanceof Uint8Array ? given : new Uint8Array([1]))),
    "",
    new Uint8Array([2]),
  ],
  [
    "a Map",
    z.unknown().transform((given) => (given instanceof Map ? given : new Map([["a", 1]]))),
    {},
    new Map([["a", 2]]),
  ],
  ["a Set", z.unknown().transform((given) => (given instanceof Set ? given : new Set(["a"]))), [], new Set(["b"])],
])(
  "TOOL-14 TOOL-10 %s that another policy gives after the approval is approved anew, and runs as it was approved",
  async (_, schema, value, other) => {
    const approved: unknown[] = [];
    const approver = definePolicy({
      name: "approver",
      approve({ input }) {
        approved.push((input as { value: unknown }).value);
        return allow();
      },
    });
    const giving = definePolicy({ name: "giving", approve: () => allow({ value: other }) });
    const { got } = await run(schema, value, [approver, giving], (given) => given);
    expect(approved).toHaveLength(2);
    expect([approved[1], ...got]).toEqual([other, other]);
  },
);

test.each([
  ["at its place", z.object({ to: z.number().transform((amount) => new Money(amount)) }), { to: 5 }, "value.to"],
  ["as a whole", z.number().transform((amount) => new Money(amount)), 5, "value"],
])(
  "TOOL-14 an instance of a class cannot be approved %s: the call fails before anyone is asked",
  async (_, schema, value, path) => {
    let asked = 0;
    const approver = definePolicy({
      name: "approver",
      approve: () => {
        asked += 1;
        return allow();
      },
    });
    const { got, message } = await run(schema, value, [approver], (given) => given);
    expect([got, asked]).toEqual([[], 0]);
    expect(message).toContain(`${path} is an instance of Money`);
    // Nobody has to approve: the handler gets it.
    const alone = await run(schema, value, [], () => "got");
    expect(alone.got).toEqual(["got"]);
  },
);
