import { definePrompt, provide } from "@proviso/core";
import { createSession, modelAdapter, openResources } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { Counter, CounterKey, noted, notes, promptOf, toolOf } from "./support.ts";

const call = (name: string, of: object = {}) => ({ name, arguments: of });
const refused = call("free", { n: "no number" });

test.each<readonly [string, readonly ReturnType<typeof call>[]]>([
  ["behind it", [call("nests"), refused]],
  ["behind others", [call("nests"), call("free", { n: 1 }), refused]],
  ["before it", [refused, call("nests"), call("free", { n: 1 })]],
  ["between", [call("nests"), refused, call("free", { n: 1 })]],
  ["of a tool that is not there", [call("nests"), call("nope")]],
])("TX-1 TX-8 what an evaluation inside a call has changed stands beside a refused call: %s", async (_, toolCalls) => {
  const counter = new Counter();
  const resources = await openResources([provide(CounterKey, counter)]);
  const session = createSession({ slices: [notes] });
  const writes = toolOf("writes", async (context) => {
    (await context.resources.open(CounterKey)).value += 1;
    context.session.dispatch(noted({ text: "written" }));
  });
  const nests = {
    ...toolOf("nests", async (context) => {
      const adapter = modelAdapter(scriptedModel([{ toolCalls: [{ name: "writes" }] }, { text: "done" }]));
      await context.evaluate(promptOf({ tools: [writes] }), { adapter });
    }),
    uses: [] as const,
  };
  const free = { ...toolOf("free", async () => {}), input: z.object({ n: z.number() }), uses: [] as const };
  const prompt = definePrompt({
    key: "p",
    sections: [{ key: "s", text: "Go.", tools: [nests, free] as never, slices: [notes] }],
  }).bind();
  await modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }])).evaluate(prompt, { session, resources });
  expect([counter.value, session.get(notes)]).toEqual([1, ["written"]]);
});
