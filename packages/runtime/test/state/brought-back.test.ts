import { fakeEnvironment } from "@proviso/runtime/testing";
import { createSession } from "@proviso/runtime";
import { expect, test } from "vitest";
import { calling, noted, notes, promptOf, toolOf } from "../transactions/support.ts";

test("TX-2 what a snapshot of the session has brought back stays when a call that overlapped is undone later", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const session = createSession({ slices: [notes] });
  const writes = (name: string) =>
    toolOf(
      name,
      async ({ session: own }) => {
        own.dispatch(noted({ text: name }));
        await clock.sleep(20);
      },
      { uses: [] },
    );
  const seen: unknown[] = [];
  let snapshot = session.snapshot();
  session.on("tool.invoked", ({ name, result }) => {
    seen.push([name, result.success, session.get(notes)]);
    if (result.success) throw new Error("vetoed");
    if (name !== "first") return;
    session.restore(snapshot);
    seen.push(["restored", session.get(notes)]);
  });
  const tools = [writes("first"), writes("second")];
  const evaluating = calling(environment, "first", "second").evaluate(promptOf({ tools }), { session });
  await clock.advance(10);
  snapshot = session.snapshot();
  await clock.advance(200);
  await evaluating;
  expect(seen).toEqual([
    ["first", true, ["first", "second"]],
    ["first", false, ["second"]],
    ["restored", ["first", "second"]],
    ["second", true, ["first", "second"]],
    ["second", false, ["first"]],
  ]);
});
