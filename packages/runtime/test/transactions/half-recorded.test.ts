import { defineEvent, defineSlice, type Clock } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptOf, toolOf } from "./support.ts";

const added = defineEvent("added", z.object({ by: z.string() }));
const adds = defineSlice({
  name: "adds",
  initial: { by: [] as readonly string[] },
  reducers: ({ on }) => on(added, (state, { by }) => ({ by: [...state.by, by] })),
});

/** Evaluates a turn of three calls that overlap; the clock throws at its n-th use. */
async function evaluated(n: number) {
  const environment = fakeEnvironment();
  let uses = 0;
  const clock: Clock = {
    now() {
      if (++uses === n) throw new Error("the clock is broken");
      return environment.clock.now();
    },
    sleep: (ms, signal) => environment.clock.sleep(ms, signal),
  };
  const session = createSession({ slices: [adds] });
  const events = recordEvents(session);
  const add = (name: string, fails: boolean) =>
    toolOf(
      name,
      (context) => {
        context.session.dispatch(added({ by: name }));
        if (fails) throw new Error("it failed");
      },
      { uses: [] },
    );
  const tools = [add("one", false), add("two", true), add("three", false)];
  const toolCalls = tools.map(({ name }) => ({ name }));
  const adapter = modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]), { ...environment, clock });
  await adapter.evaluate(promptOf({ tools, slices: [adds] }), { session }).catch(() => {});
  const recorded = events.flatMap((event) =>
    event.type === "tool.invoked" && "result" in event && event.result.success ? [event.name] : [],
  );
  return { uses, state: session.get(adds).by, recorded };
}

test("TX-1 TX-5 wherever the clock throws, overlapping calls leave in the session what was recorded, and nothing else", async () => {
  const { uses: most } = await evaluated(0);
  expect(most).toBeGreaterThan(10);
  for (let n = 1; n <= most; n++) {
    const { state, recorded } = await evaluated(n);
    expect({ n, state }).toEqual({ n, state: recorded });
  }
});
