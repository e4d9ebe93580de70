// An attempt that ends while all that happens in it comes from the record.
import { deadlineAt, definePolicy, suspend, type EvaluateOptions } from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type RunDescription } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { reviewPrompt, type World } from "./runs-support.ts";
import { listed } from "./support.ts";

const noting: ScriptedStep = { toolCalls: [{ id: "c1", name: "note", arguments: { text: "one" } }] };
const limited: ScriptedStep = { failure: "throttle", kind: "rate_limit", message: "Later." };

type Attempt = readonly [what: string, code: string, options: () => EvaluateOptions, text: string];

/** What is known of the run. */
async function described(journal: Journal): Promise<RunDescription> {
  const description = await journal.describe("r");
  if (description === undefined) throw new Error("There is no run.");
  return description;
}

const attempts: readonly Attempt[] = [
  ["a budget that allows no request", "budget", () => ({ budget: { maxTotalTokens: 1 } }), "Review {{file}}."],
  ["an abort", "aborted", () => ({ signal: AbortSignal.abort() }), "Review {{file}}."],
  ["a deadline that has passed", "deadline", () => ({ deadline: deadlineAt(new Date(0)) }), "Review {{file}}."],
  ["another prompt", "run", () => ({}), "Review {{file}} at once."],
  ["another session", "option", () => ({ session: createSession({ id: "another" }) }), "Review {{file}}."],
];

describe("an attempt that ends before anything new has happened", () => {
  it.each(attempts)("RSM-15 leaves the run as it was: %s", async (_what, code, options, text) => {
    await using journal = memoryJournal();
    const world: World = { done: [] };
    const evaluate = (steps: readonly ScriptedStep[], given: EvaluateOptions, changed?: string): Promise<unknown> =>
      modelAdapter(scriptedModel([...steps]), { throttle: { maxAttempts: 1 } }).evaluate(
        reviewPrompt(world, changed),
        given,
      );
    await expect(evaluate([noting, limited], { run: journal.run("r") })).rejects.toMatchObject({ code: "throttled" });
    const before = await described(journal);

    await expect(evaluate([], { ...options(), run: journal.run("r") }, text)).rejects.toMatchObject({ code });
    const { updatedAt, ...after } = await described(journal);
    expect({ ...after, updatedAt: before.updatedAt }).toEqual({ ...before, attempts: 2 });
    expect(updatedAt.getTime()).toBeGreaterThanOrEqual(before.updatedAt.getTime());
    const [summary] = await listed(journal.list());
    const { params: _params, timeline: _timeline, tornBytes: _torn, ...known } = after;
    expect(summary).toEqual({ ...known, updatedAt });
    // What stood is replayed, and nothing but the attempt that came to nothing is void.
    await expect(evaluate([], { run: journal.replay("r") })).rejects.toMatchObject({ code: "throttled" });
    const entries = await listed(journal.entries("r"));
    expect(entries.filter(({ isVoid }) => isVoid).map(({ kind }) => kind)).toEqual(["resumed", "ended"]);
    expect(entries.at(-1)).toMatchObject({ kind: "ended", isEmpty: true });

    await evaluate([{ text: "Done." }], { run: journal.run("r") });
    expect(world.done).toHaveLength(1);
    expect(await journal.describe("r")).toMatchObject({ state: "executed", attempts: 3, steps: 3 });
    expect(await evaluate([], { run: journal.replay("r") })).toMatchObject({ text: "Done." });
  });

  it("RSM-15 leaves a run that waits for a decision as it was: its question can be decided", async () => {
    await using journal = memoryJournal();
    const world: World = { done: [] };
    const policies = [definePolicy({ name: "ask", check: () => suspend("May it?") })];
    const evaluate = (steps: readonly ScriptedStep[], given: EvaluateOptions): Promise<unknown> =>
      modelAdapter(scriptedModel([...steps])).evaluate(reviewPrompt(world), { ...given, policies });
    const waits = await evaluate([noting], { run: journal.run("r") }).catch((error: unknown) => error);
    const { token } = (waits as { readonly pending: { readonly token: string } }).pending;

    const budget = { maxTotalTokens: 1 };
    await expect(evaluate([], { budget, run: journal.run("r") })).rejects.toMatchObject({ code: "budget" });
    expect(await listed(journal.list({ state: "suspended" }))).toMatchObject([{ id: "r", pending: { callId: "c1" } }]);
    await journal.resolve(token, { allowed: true });
    // Attempts that came to nothing count where the run is described, and where it is listed.
    expect((await described(journal)).attempts).toBe(2);
    expect(await listed(journal.list())).toMatchObject([{ attempts: 2 }]);
    await evaluate([{ text: "Done." }], { run: journal.run("r") });
    expect(world.done).toHaveLength(1);
  });

  it("RSM-15 is no part of a replay where it crashed at once, too", async () => {
    const whole = memoryStore();
    const world: World = { done: [] };
    const evaluate = (steps: readonly ScriptedStep[], given: EvaluateOptions): Promise<unknown> =>
      modelAdapter(scriptedModel([...steps]), { throttle: { maxAttempts: 1 } }).evaluate(reviewPrompt(world), given);
    await using journal = createJournal(whole);
    await expect(evaluate([noting, limited], { run: journal.run("r") })).rejects.toMatchObject({ code: "throttled" });
    const budget = { maxTotalTokens: 1 };
    await expect(evaluate([], { budget, run: journal.run("r") })).rejects.toMatchObject({ code: "budget" });

    // The process ended before it could keep the end of the attempt.
    const crashed = memoryStore();
    for await (const frame of whole.read("r")) {
      if (!frame.body.includes("isEmpty")) await crashed.append([frame]);
    }
    await using left = createJournal(crashed);
    expect((await listed(left.entries("r"))).at(-1)).toMatchObject({ kind: "resumed" });
    expect(await left.describe("r")).toMatchObject({ state: "open" });
    await expect(evaluate([], { run: left.replay("r") })).rejects.toMatchObject({ code: "throttled" });
    // Another one that adds nothing leaves what stood before both.
    const again = evaluate([], { budget, run: left.run("r", { takeOver: true }) });
    await expect(again).rejects.toMatchObject({ code: "budget" });
    expect(await left.describe("r")).toMatchObject({ state: "failed", steps: 2, attempts: 3 });
    expect(await listed(left.list())).toMatchObject([{ state: "failed", steps: 2, attempts: 3 }]);
    await expect(evaluate([], { run: left.replay("r") })).rejects.toMatchObject({ code: "throttled" });
  });

  it("JRN-2 RSM-15 a run that goes on keeps the clock that it is given", async () => {
    const environment = fakeEnvironment();
    await using journal = memoryJournal();
    const world: World = { done: [] };
    const evaluate = (steps: readonly ScriptedStep[], given: EvaluateOptions): Promise<unknown> =>
      modelAdapter(scriptedModel([...steps]), { ...environment, throttle: { maxAttempts: 1 } }).evaluate(
        reviewPrompt(world),
        { ...given, run: journal.run("r") },
      );
    await expect(evaluate([noting, limited], {})).rejects.toMatchObject({ code: "throttled" });
    await expect(evaluate([], { budget: { maxTotalTokens: 1 } })).rejects.toMatchObject({ code: "budget" });
    await environment.clock.advance(100);
    await evaluate([{ text: "Done." }], {});
    const ended = (await listed(journal.entries("r"))).findLast(({ kind }) => kind === "ended");
    expect(ended?.at).toBe(environment.clock.now());
  });

  it("RSM-15 VIEW-13 a request that is asked again is no attempt of its run", async () => {
    await using journal = memoryJournal();
    const environment = fakeEnvironment();
    const model = scriptedModel([limited, limited, { text: "Done." }]);
    const evaluating = modelAdapter(model, environment).evaluate("Hello.", { run: journal.run("r") });
    await environment.clock.advance(600_000);
    expect((await evaluating).text).toBe("Done.");
    expect((await described(journal)).attempts).toBe(1);
    expect(await listed(journal.list())).toMatchObject([{ attempts: 1 }]);
  });
});
