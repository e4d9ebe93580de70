// What is evaluated, known to the side that hands runs in and to the workers.
import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool } from "@proviso/core";
import type { SqliteJournal } from "@proviso/journal/node";
import { SqliteDatabase, sqliteResource } from "@proviso/node";
import { defineRun } from "@proviso/worker";
import { redisPace } from "@proviso/worker/bullmq";
import { z } from "zod";

const rooms = defineTool({
  name: "rooms",
  description: "Lists the rooms that are free on a day.",
  input: z.object({ day: z.string() }),
  readOnly: true,
  execute: ({ day }) => ({ day, free: ["blue", "green"] }),
});
const book = defineTool({
  name: "book",
  description: "Books a room.",
  input: z.object({ guest: z.string(), room: z.string() }),
  // All that it does is in the journal's own file: a crash leaves it done with its record, or not begun.
  transactional: true,
  uses: [SqliteDatabase],
  execute({ guest, room }, { resources }) {
    resources.get(SqliteDatabase).prepare("INSERT INTO bookings (guest, room) VALUES (?, ?)").run(guest, room);
    return "booked";
  },
});
const booking = definePrompt({
  key: "booking",
  params: z.object({ guest: z.string(), day: z.string() }),
  sections: [
    { key: "rules", text: "Find a free room, and book it.", tools: [rooms, book] },
    { key: "task", text: "A room for {{guest}} on {{day}}.", role: "user" },
  ],
});

const schema = "CREATE TABLE IF NOT EXISTS bookings (guest TEXT NOT NULL, room TEXT NOT NULL)";

/** The kind of run. All workers keep one pace, for the service has one limit. */
export function bookings(journal: SqliteJournal, service: { readonly baseURL: string; readonly redis: string }) {
  const pacing = redisPace({ url: service.redis, key: "simulated", maxInFlight: 100 });
  return defineRun({
    prompt: booking,
    adapter: openai({ model: "simulated", apiKey: "no-key-needed", baseURL: service.baseURL }),
    options: () => ({ pacing, resources: [sqliteResource(journal, { migrate: [schema] })] }),
  });
}
