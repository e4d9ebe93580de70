/** Serves one tool over standard input and output, with a session that outlives its calls. */
import { defineEvent, defineSlice, defineTool } from "@proviso/core";
import { serveMcp } from "@proviso/mcp/server";
import { createSession } from "@proviso/runtime";
import { z } from "zod";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 120_000).unref();

const counted = defineEvent("counted", z.object({}));
const count = defineSlice({ name: "count", initial: 0, reducers: ({ on }) => on(counted, (n) => n + 1) });
const tool = defineTool({
  name: "count",
  description: "Counts.",
  input: z.object({}),
  execute(_, { session }) {
    session.dispatch(counted({}));
    return session.get(count);
  },
});
await using service = serveMcp({ name: "counter", tools: [tool], session: createSession({ slices: [count] }) });
await service.stdio();
console.error("closed");
