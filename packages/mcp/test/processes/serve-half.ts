/** Serves a tool that does half of its work and waits; says what is left of it when the service is closed. */
import { defineEvent, defineSlice, defineTool, Filesystem, provide } from "@proviso/core";
import { serveMcp } from "@proviso/mcp/server";
import { hostFilesystem } from "@proviso/node";
import { createSession } from "@proviso/runtime";
import { readdirSync } from "node:fs";
import { z } from "zod";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 120_000).unref();

const [, , folder = ""] = process.argv;
const noted = defineEvent("noted", z.object({}));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (list) => void list.push("half")),
});
const half = defineTool({
  name: "half",
  description: "Begins.",
  input: z.object({}),
  async execute(_, { session, resources, signal }) {
    session.dispatch(noted({}));
    await resources.get(Filesystem).write("half.md", "half");
    console.error("begun");
    return new Promise<string>((resolve) => signal.addEventListener("abort", () => resolve("too late")));
  },
});
const session = createSession({ slices: [notes] });
{
  await using service = serveMcp({
    name: "half",
    tools: [half],
    session,
    resources: [provide(Filesystem, hostFilesystem(folder))],
  });
  process.once("SIGTERM", () => void service.close());
  await service.stdio();
}
const files = readdirSync(folder).filter((name) => name.endsWith(".md"));
console.error("saved", JSON.stringify(session.get(notes)), JSON.stringify(files));
process.exit(0);
