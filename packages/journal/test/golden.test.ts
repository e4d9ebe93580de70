import { contentHash } from "@proviso/core/internal";
import { isEvaluationFailure, type PromptTemplate, type SessionEvent } from "@proviso/core";
import type { Journal } from "@proviso/journal";
import { folderJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { chief, greeting, sum, work } from "./golden/prompts.ts";
import { folder } from "./support.ts";

const records = join(import.meta.dirname, "golden", "records");

interface Expected {
  readonly output?: unknown;
  readonly usage?: unknown;
  readonly turns?: number;
  readonly code?: string;
  readonly message?: string;
  readonly events?: number;
  readonly hash?: string;
}

const policies = { policies: [chief] };

/** A streamed run has the deltas in its events. */
async function streamed(journal: Journal, id: string) {
  const session = createSession({ id: `session of ${id}` });
  const events: SessionEvent[] = [];
  session.on("*", (event) => void events.push(event));
  const stream = modelAdapter(scriptedModel([])).stream(work.bind(), { session, run: journal.replay(id) });
  for await (const _ of stream) void _;
  return { response: await stream.response, failure: undefined, events };
}

const templates: Readonly<Record<string, object>> = { greeting, typed: sum, refused: greeting, failed: greeting };

describe.each(readdirSync(records))("the golden records of %s", (release) => {
  const expected = JSON.parse(readFileSync(join(records, release, "expected.json"), "utf8")) as Record<
    string,
    Expected
  >;

  /** A copy, for what goes on is written. */
  async function kept() {
    const copy = await folder();
    cpSync(join(records, release), copy, { recursive: true });
    const journal = folderJournal(copy);
    onTestFinished(() => journal.close());
    return journal;
  }

  test.each(Object.entries(expected))("RSM-12 RPL-1 %s replays, byte for byte", async (id, came) => {
    const journal = await kept();
    const prompt = (templates[id] ?? work) as PromptTemplate<never, unknown>;
    const replaying = id === "streamed" ? streamed(journal, id) : replay(prompt, journal.replay(id), policies);
    const { response, failure, events } = await replaying;
    if (came.code === undefined) {
      expect(failure).toBeUndefined();
      expect(response?.output).toEqual(came.output);
    } else {
      expect(isEvaluationFailure(failure) && failure.code).toBe(came.code);
      expect(failure?.message).toBe(came.message);
    }
    if (came.usage !== undefined) expect([response?.usage, response?.turns]).toEqual([came.usage, came.turns]);
    if (came.hash !== undefined) expect([events.length, contentHash(events)]).toEqual([came.events, came.hash]);
  });

  test("RSM-12 RSM-2 a run that a limit ended goes on after its last step", async () => {
    const journal = await kept();
    const model = scriptedModel([{ text: "The work is done." }]);
    const { output, run } = await modelAdapter(model).evaluate(work.bind(), { run: journal.run("cut") });
    expect([output, run?.attempt, run?.keptSteps, model.requests.length]).toEqual(["The work is done.", 2, 9, 1]);
  });

  test("RSM-12 FRK-1 a run is forked at each step", async () => {
    const journal = await kept();
    const steps = (await journal.describe("calls"))?.steps ?? 0;
    expect(steps).toBe(10);
    for (let at = 0; at < steps; at++) {
      const model = scriptedModel(Array.from({ length: 3 }, () => ({ text: `Forked at ${at}.` })));
      const { run, output } = await modelAdapter(model).evaluate(work.bind(), { run: journal.fork("calls", { at }) });
      expect([output, run?.keptSteps]).toEqual([`Forked at ${at}.`, at]);
    }
  });
});
