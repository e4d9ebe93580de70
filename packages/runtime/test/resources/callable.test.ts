// Resources that are functions with methods, as some SQL clients are.
import { guardedFor, provide, provideFactory, resourceKey, type CallGuard } from "@proviso/core";
import { createSession, openResources, transaction } from "@proviso/runtime";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, promptOf, toolOf } from "../transactions/support.ts";

function client() {
  const rows: string[] = [];
  const insert = (row: string): void => void rows.push(row);
  return Object.assign(insert, {
    rows,
    snapshot: () => [...rows],
    restore: (before: string[]) => void rows.splice(0, rows.length, ...before),
  });
}
const Client = resourceKey<ReturnType<typeof client>>("Client");

test("TX-1 a failed call leaves no trace in a resource that is a function", async () => {
  const insert = client();
  const failing = toolOf("insert", ({ resources }) => {
    resources.get(Client)("a row");
    throw new Error("it failed");
  });
  const resources = [provide(Client, insert)];
  await calling(fakeEnvironment(), "insert").evaluate(promptOf({ tools: [failing] }), { resources });
  expect(insert.rows).toEqual([]);
});

test("TX-4 a function that a factory has only returned is undone with the body around the call that failed", async () => {
  const insert = client();
  insert("before");
  const Same = resourceKey<typeof insert>("Same");
  const resources = await openResources([provide(Client, insert), provideFactory(Same, () => insert)]);
  const scope = { session: createSession(), resources };
  const failing = toolOf("insert", (context) => {
    context.resources.get(Same)("a row");
    throw new Error("it failed");
  });
  const running = transaction(scope, async () => {
    insert("in the body");
    await calling(fakeEnvironment(), "insert").evaluate(promptOf({ tools: [failing] }), scope);
    throw new Error("the body failed");
  });
  await expect(running).rejects.toThrow("the body failed");
  expect(insert.rows).toEqual(["before"]);
});

test("TX-11 calls wait for each other over a resource that is a function", async () => {
  const environment = fakeEnvironment();
  const insert = client();
  const resources = await openResources([provide(Client, insert)]);
  const counting = toolOf("insert", async ({ resources: own }) => {
    const before = own.get(Client).rows.length;
    await environment.clock.sleep(10);
    own.get(Client)(`row ${before}`);
  });
  const evaluate = () => calling(environment, "insert").evaluate(promptOf({ tools: [counting] }), { resources });
  const both = Promise.all([evaluate(), evaluate()]);
  await environment.clock.advance(100);
  await both;
  expect(insert.rows).toEqual(["row 0", "row 1"]);
});

test("RES-9 a resource that is a function has guardedFor, and its view may be one", async () => {
  const insert = client();
  const guardedClient = Object.assign(insert, {
    [guardedFor](call: CallGuard) {
      const view = (row: string): void => {
        call.assertLive();
        call.assertMayChange("a row");
        insert(row);
      };
      return Object.assign(view, { rows: insert.rows, snapshot: insert.snapshot, restore: insert.restore });
    },
  });
  let kept: ((row: string) => void) | undefined;
  const writing = toolOf("write", ({ resources }) => void (kept = resources.get(Client)));
  const reading = toolOf("read", ({ resources }) => resources.get(Client)("a row"), { readOnly: true });
  const using = { resources: [provide(Client, guardedClient)] };
  const { toolResults } = await calling(fakeEnvironment(), "read").evaluate(promptOf({ tools: [reading] }), using);
  expect([toolResults[0]?.result.success, insert.rows]).toEqual([false, []]);
  await calling(fakeEnvironment(), "write").evaluate(promptOf({ tools: [writing] }), using);
  expect(() => kept?.("too late")).toThrow("is over");
});

test.each(["asyncDispose", "dispose"] as const)(
  "RES-1 what a factory made is closed by Symbol.%s, also where it is a function",
  async (method) => {
    let closed = 0;
    const make = () => Object.assign(client(), { [Symbol[method]]: () => void (closed += 1) });
    await (await openResources([provideFactory(Client, make, { eager: true })]))[Symbol.asyncDispose]();
    expect(closed).toBe(1);
  },
);

test("TX-1 a remote client of which every name is a method takes no part: nothing is called over the wire for it", async () => {
  const called: string[] = [];
  const remote = (path: string): { (): Promise<string>; readonly [name: string]: () => Promise<string> } =>
    new Proxy(() => Promise.resolve(""), {
      get: (_, name) => (typeof name === "string" && name !== "then" ? remote(`${path}.${name}`) : undefined),
      apply: () => Promise.resolve(void called.push(path)).then(() => "seen"),
    }) as never;
  const Remote = resourceKey<ReturnType<typeof remote>>("Remote");
  const look = toolOf("look", ({ resources }) => resources.get(Remote)["look"]?.());
  const response = await calling(fakeEnvironment(), "look").evaluate(promptOf({ tools: [look] }), {
    resources: [provide(Remote, remote("api"))],
  });
  expect(response.toolResults[0]?.result).toMatchObject({ success: true, value: "seen" });
  expect(called).toEqual(["api.look"]);
});
