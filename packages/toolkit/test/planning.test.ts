import { planning, planSlice } from "@proviso/toolkit";
import { expect, test } from "vitest";
import { call, work } from "./support.ts";

test("KIT-5 a plan is set, its steps are updated, and the model reads it each time", async () => {
  const { results, session } = await work(planning(), [
    call("set_plan", { goal: "Ship", steps: ["Build", "Test"] }),
    call("update_plan_step", { step: 1, status: "done", note: "in 3 s" }),
  ]);
  expect(results[1]).toBe("Goal: Ship\n1. [done] Build (in 3 s)\n2. [pending] Test");
  expect(session.get(planSlice)).toEqual({
    goal: "Ship",
    steps: [
      { title: "Build", status: "done", note: "in 3 s" },
      { title: "Test", status: "pending" },
    ],
  });
});

test("KIT-5 a step that is not there, or a plan, is a failed result", async () => {
  const { results, session } = await work(planning(), [
    call("update_plan_step", { step: 1, status: "done" }),
    call("set_plan", { goal: "Ship", steps: ["Build"] }),
    call("update_plan_step", { step: 2, status: "done" }),
    call("set_plan", { goal: "Ship", steps: [] }),
  ]);
  expect(results.map((result) => result.startsWith("failed"))).toEqual([true, false, true, true]);
  expect(session.get(planSlice)?.steps).toHaveLength(1);
});
