import { expect, test } from "vitest";
import { z } from "zod";
import { defineEvent, definePrompt, defineSlice, defineTool, Filesystem, provide, toolError } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";

const noted = defineEvent("noted", z.object({ path: z.string() }));
const notes = defineSlice({ name: "notes", initial: [] as readonly string[], reducers: ({ on }) => on(noted, (d, e) => void d.push(e.path)) });
const note = defineTool({
  name: "note", description: "x", input: z.object({ path: z.string() }),
  async execute({ path }, { session, resources }) {
    session.dispatch(noted({ path }));
    await resources.get(Filesystem).write("w.txt", path);
    if (path === "bad") return toolError("bad path");
    return { ok: path };
  },
});
const p = definePrompt({ ns: "a", key: "b", params: z.object({ q: z.string() }), output: z.array(z.string()), sections: [{ key: "g", title: "G", text: "Hello", tools: [note], slices: [notes] }, { key: "u", text: "{{q}}", role: "user" }] });
test("smoke", async () => {
  const model = scriptedModel([
    { toolCalls: [{ name: "note", arguments: { path: "ok" } }, { name: "note", arguments: { path: "bad" } }, { name: "nope" }, { name: "note", arguments: { path: "x", y: 1 } }] },
    { output: { items: ["a"] } },
  ]);
  const session = createSession();
  const events = recordEvents(session);
  const fs = memoryFilesystem({});
  const r = await modelAdapter(model).evaluate(p.bind({ q: "Q $& {{q}}" }), { session, resources: [provide(Filesystem, fs)], deadline: undefined, budget: { maxTotalTokens: 1000 } });
  console.log(JSON.stringify(r, null, 1), events.map((e) => e.type), (await fs.read("w.txt")).text, session.get(notes), JSON.stringify(model.requests[0]));
  expect(r.output).toEqual(["a"]);
});
