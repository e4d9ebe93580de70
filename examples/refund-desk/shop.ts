import { defineTool, toolError } from "@proviso/core";
import { SqliteDatabase } from "@proviso/node";
import { z } from "zod";

/** Scripts for `sqliteResource`: the shop's orders, and what was paid back for them. They stand in the journal's own file. */
export const schema: readonly string[] = [
  `CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT NOT NULL, cents INTEGER NOT NULL) STRICT;
   CREATE TABLE refunds (
     order_id TEXT PRIMARY KEY REFERENCES orders (id),
     cents INTEGER NOT NULL CHECK (cents > 0),
     receipt TEXT NOT NULL
   ) STRICT;
   INSERT INTO orders VALUES
     ('A-17', 'rain coat', 9000), ('A-18', 'mug', 1200), ('B-4', 'lamp', 4900), ('C-2', 'bicycle', 64900);`,
];

interface Order {
  readonly item: string;
  readonly cents: number;
  /** null: nothing was paid back. */
  readonly refunded: number | null;
}

const orderNumber = z.string().describe("as customers write it, A-17 for example");

export const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order: what it was, what it cost in cents, and what was paid back.",
  input: z.object({ order: orderNumber }),
  readOnly: true,
  uses: [SqliteDatabase],
  execute: ({ order }, { resources }) =>
    orderIn(resources.get(SqliteDatabase), order) ?? toolError(`There is no order ${JSON.stringify(order)}.`),
});

/**
 * Changes nothing but the file that the journal is in: what it pays is one commit with the record that it did. So it is done
 * once, whenever the process dies.
 */
export const refund = defineTool({
  name: "refund",
  description: "Pays money back for an order.",
  input: z.object({ order: orderNumber, cents: z.number().int().positive() }),
  transactional: true,
  uses: [SqliteDatabase],
  execute({ order, cents }, { resources, idempotencyKey }) {
    const database = resources.get(SqliteDatabase);
    const found = orderIn(database, order);
    if (found === undefined) return toolError(`There is no order ${JSON.stringify(order)}.`);
    if (found.refunded !== null) return toolError(`${found.refunded} cents were paid back for ${order} already.`);
    if (cents > found.cents) return toolError(`${order} cost ${found.cents} cents; no more is paid back.`);
    const receipt = `R-${idempotencyKey.slice(-6)}`;
    database.run("INSERT INTO refunds (order_id, cents, receipt) VALUES (?, ?, ?)", order, cents, receipt);
    return { order, item: found.item, cents, receipt };
  },
});

/** What `refund` returns. */
export const Paid = z.object({ order: z.string(), item: z.string(), cents: z.number(), receipt: z.string() });

function orderIn(database: SqliteDatabase, order: string): Order | undefined {
  const sql =
    "SELECT item, orders.cents, refunds.cents AS refunded FROM orders LEFT JOIN refunds ON order_id = id WHERE id = ?";
  return database.get<Order & Record<string, string | number | null>>(sql, order);
}
