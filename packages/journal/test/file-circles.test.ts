// Waits for the file of a journal in which a call, or the body of a transaction, has its own transaction open.
import {
  DeadlockError,
  definePrompt,
  defineTool,
  provide,
  resourceKey,
  type JournalRun,
  type PromptResponse,
  type Resources,
  type Snapshotable,
  type ToolContext,
} from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { createSession, modelAdapter, openResources, transaction } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { folder } from "./support.ts";

class Stock implements Snapshotable<readonly string[]> {
  readonly durable: boolean;
  items: readonly string[] = [];
  constructor(durable = false) {
    this.durable = durable;
  }
  snapshot(): readonly string[] {
    return this.items;
  }
  restore(before: readonly string[]): void {
    this.items = before;
  }
}
const StockKey = resourceKey<Stock>("Stock");

const migrate = ["CREATE TABLE orders (id TEXT)"];

async function world(stock = new Stock(), flushMs = 5) {
  const journal = sqliteJournal(join(await folder(), "runs.sqlite"), { flushMs });
  onTestFinished(() => journal.close());
  const database = sqliteResource(journal, { migrate });
  const resources = await openResources([database, provide(StockKey, stock)]);
  const orders = (): unknown[] =>
    resources
      .get(SqliteDatabase)
      .all("SELECT id FROM orders")
      .map(({ id }) => id);
  return { journal, resources, stock, orders };
}

type Work = (context: ToolContext) => unknown;

function toolOf(name: string, key: typeof StockKey | typeof SqliteDatabase, work: Work) {
  const of = { name, description: "Does it.", input: z.object({}), uses: [key], transactional: true };
  return defineTool({ ...of, execute: (_, context) => work(context as ToolContext) });
}

/** Has the tool called once. */
function calls(tool: ReturnType<typeof toolOf>, options: { run?: JournalRun; resources?: Resources } = {}) {
  const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: tool.name }] }, { text: "Done." }]));
  return adapter.evaluate(promptOf(tool), options);
}

const promptOf = (tool: ReturnType<typeof toolOf>) =>
  definePrompt({ key: tool.name, sections: [{ key: "task", text: "Do it.", tools: [tool] }] }).bind();

const insert = ({ resources }: Pick<ToolContext, "resources">): void =>
  void resources.get(SqliteDatabase).run("INSERT INTO orders VALUES ('A')");

const turns = async (): Promise<void> => {
  for (let count = 0; count < 20; count++) await turn();
};

/** The answer, why a call failed, or the error. */
async function outcomeOf(evaluating: Promise<PromptResponse<unknown>>): Promise<unknown> {
  try {
    const { text, toolResults } = await evaluating;
    return toolResults.find(({ result }) => !result.success)?.result.message ?? text;
  } catch (error) {
    return error;
  }
}

/** A tool that takes from the stock, and one that orders in the file and then has the first one called. */
function tools({ before, taking }: { readonly before: () => unknown; readonly taking: () => unknown }) {
  const take = toolOf("take", StockKey, async ({ resources }) => {
    const stock = resources.get(StockKey);
    await taking();
    stock.items = [...stock.items, "taken"];
  });
  const order = toolOf("order", SqliteDatabase, async (context) => {
    insert(context);
    await before();
    const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "take" }] }, { text: "Taken." }]));
    return (await context.evaluate(promptOf(take), { adapter })).text;
  });
  return { take, order };
}

test("TX-12 EFF-8 a call that has the file open does not wait for one whose run waits for the file", async () => {
  const { journal, resources, stock, orders } = await world();
  const { take, order } = tools({ before: turns, taking: () => {} });
  const ordering = outcomeOf(calls(order, { run: journal.run("orders"), resources }));
  await turn();
  const taking = outcomeOf(calls(take, { run: journal.run("takes"), resources }));
  expect(await ordering).toContain('A wait for "Stock" would never end');
  expect(await taking).toBe("Done.");
  expect([orders(), stock.items]).toEqual([[], ["taken"]]);
});

test("TX-12 EFF-8 a call that waits already is refused when the one that it waits for has to wait for its file", async () => {
  const { journal, resources, stock, orders } = await world(new Stock(true));
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const { take, order } = tools({
    before: turns,
    taking: async () => {
      begun.resolve();
      await gate.promise;
    },
  });
  const taking = outcomeOf(calls(take, { run: journal.run("takes"), resources }));
  await begun.promise;
  const ordering = outcomeOf(calls(order, { run: journal.run("orders"), resources }));
  for (let count = 0; count < 5; count++) await turns();
  gate.resolve();
  expect(await ordering).toContain('A wait for "Stock" would never end');
  expect(await taking).toBe("Done.");
  expect([orders(), stock.items]).toEqual([[], ["taken"]]);
});

test.each(["before the call writes", "after it has written"])(
  "TX-12 EFF-8 a call does not wait for a run that waits for the file of that call: begun %s",
  async (when) => {
    const { journal, resources, orders } = await world();
    const part = toolOf("part", StockKey, turns);
    const order = toolOf("order", SqliteDatabase, async (context) => {
      if (when !== "before the call writes") insert(context);
      const evaluating = calls(part, {
        run: journal.run("part"),
        resources: await openResources([provide(StockKey, new Stock())]),
      });
      if (when === "before the call writes") insert(context);
      return (await evaluating).text;
    });
    const { toolResults } = await calls(order, { run: journal.run("orders"), resources });
    expect(toolResults[0]?.result).toMatchObject({
      success: false,
      message: expect.stringContaining("would wait for ever for the file of its journal: the call of order (call_1)"),
    });
    expect(orders()).toEqual([]);
    expect(await outcomeOf(calls(part, { run: journal.run("other"), resources }))).toBe("Done.");
  },
);

test.each(["the body", "a call of the run"])(
  "TX-12 EFF-8 a body that has the file open is not waited for by a run that begins in it: %s has written",
  async (who) => {
    const { journal, resources, orders } = await world();
    const session = createSession();
    const scope = { session, resources };
    const order = toolOf("order", SqliteDatabase, insert);
    const running = transaction(scope, async () => {
      if (who === "the body") insert(scope);
      return calls(order, { ...scope, run: journal.run("r") });
    });
    const error = await outcomeOf(running);
    expect(error).toBeInstanceOf(DeadlockError);
    expect(String(error)).toContain("the transaction without a tag");
    expect(orders()).toEqual([]);
    expect(await outcomeOf(calls(order, { ...scope, run: journal.run("s") }))).toBe("Done.");
    expect(orders()).toEqual(["A"]);
  },
);

test("EFF-8 a call that opens the file in a body is undone where its run cannot be kept, and the body can go on", async () => {
  const { journal, resources, orders } = await world();
  const scope = { session: createSession(), resources };
  const order = toolOf("order", SqliteDatabase, insert);
  await transaction(scope, async () => {
    expect(await outcomeOf(calls(order, { ...scope, run: journal.run("r") }))).toBeInstanceOf(DeadlockError);
    expect(orders()).toEqual([]);
    expect(await journal.describe("r")).toMatchObject({ state: "open" });
    insert(scope);
  });
  expect(orders()).toEqual(["A"]);
  // It goes on from the answer that was kept when the body had ended.
  expect(await outcomeOf(calls(order, { ...scope, run: journal.run("r") }))).toBe("Done.");
  expect(await journal.describe("r")).toMatchObject({ state: "executed", attempts: 2 });
});

test("EFF-8 RSM-1 the next attempt goes on from what the one before could not write yet", async () => {
  const { journal, resources, orders } = await world(new Stock(), 600_000);
  const scope = { session: createSession(), resources };
  const order = toolOf("order", SqliteDatabase, insert);
  await transaction(scope, async () => {
    expect(await outcomeOf(calls(order, { ...scope, run: journal.run("r") }))).toBeInstanceOf(DeadlockError);
    insert(scope);
  });
  const adapter = modelAdapter(scriptedModel([{ text: "Done, without a second first turn." }]));
  const { text, turns: count } = await adapter.evaluate(promptOf(order), { ...scope, run: journal.run("r") });
  expect([text, count]).toEqual(["Done, without a second first turn.", 2]);
  expect(orders()).toEqual(["A", "A"]);
  expect(await journal.describe("r")).toMatchObject({ state: "executed", attempts: 2 });
});

test("RES-8 the database in the file is opened again in the code of the call that has it open: its scripts were run", async () => {
  const { journal, resources, orders } = await world();
  const order = toolOf("order", SqliteDatabase, async (context) => {
    insert(context);
    await using again = await openResources([sqliteResource(journal, { migrate })]);
    return again.get(SqliteDatabase) === resources.get(SqliteDatabase);
  });
  const { toolResults } = await calls(order, { run: journal.run("orders"), resources });
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: true });
  expect(orders()).toEqual(["A"]);
});

test("TX-9 a run in a body that has not written to the file is kept", async () => {
  const { journal, resources } = await world();
  const scope = { session: createSession(), resources };
  const take = toolOf("take", StockKey, turns);
  const running = transaction(scope, () => calls(take, { ...scope, run: journal.run("r") }));
  expect(await outcomeOf(running)).toBe("Done.");
  expect(await journal.describe("r")).toMatchObject({ state: "executed" });
});
