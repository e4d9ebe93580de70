import { createSession, modelAdapter, openResources, transaction } from "@proviso/runtime";
import { provide, type ToolContext } from "@proviso/core";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { Counter, CounterKey, noted, notes, promptOf, rejectionOf, toolOf } from "./support.ts";

test.each([
  "the same session",
  "another session",
  "another session, in an evaluation inside",
  "another session, in a transaction that the handler began",
])(
  "TX-9 TX-12 a handler of an evaluation in the body cannot roll the body back, which would wait for it: %s",
  async (what) => {
    const environment = fakeEnvironment();
    const { clock } = environment;
    const session = createSession({ slices: [notes] });
    const counter = new Counter();
    const resources = await openResources([provide(CounterKey, counter)]);
    const other = createSession({ slices: [notes] });
    const evaluate = (tool: ReturnType<typeof toolOf>, from?: ToolContext): Promise<unknown> => {
      const adapter = modelAdapter(
        scriptedModel([{ toolCalls: [{ name: tool.name }] }, { text: "done" }]),
        environment,
      );
      const prompt = promptOf({ tools: [tool] });
      if (from !== undefined) return from.evaluate(prompt, { adapter });
      return adapter.evaluate(prompt, what === "the same session" ? { session, resources } : { session: other });
    };
    const told: unknown[] = [];
    const begun = clock.now();
    await transaction({ session, resources }, async (rollback, views) => {
      views.session.dispatch(noted({ text: "kept" }));
      const undoes = toolOf("undoes", async () => {
        const own = { session: createSession(), resources: await openResources([]) };
        const inside = what.includes("transaction");
        const error = await rejectionOf(inside ? transaction(own, () => rollback()) : rollback());
        told.push(error["code"], error.message, clock.now() - begun);
      });
      await evaluate(what.includes("inside") ? toolOf("outer", (context) => evaluate(undoes, context)) : undoes);
    });
    expect(told).toEqual(["deadlock", expect.stringContaining("the call of undoes"), 0]);
    expect(session.get(notes)).toEqual(["kept"]);
  },
);
