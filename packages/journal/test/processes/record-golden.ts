// node --conditions=@proviso/source record-golden.ts <folder>
// Records the golden runs into a new folder, each with what it came to. It is run once for a release, and what it wrote is
// committed as `test/golden/records/<release>`; the records of all releases stay.
import { allow, isEvaluationFailure, RunError, type EvaluateOptions, type Prompt } from "@proviso/core";
import { contentHash } from "@proviso/core/internal";
import { folderJournal } from "@proviso/journal/node";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chief, greeting, sum, work } from "../golden/prompts.ts";

const [folder = ""] = process.argv.slice(2);
const journal = folderJournal(folder);
const expected: Record<string, unknown> = {};

const call = (name: string, input: object) => ({ name, arguments: input });
const looked = ["proviso", "journal", "golden"].map((word) => call("look", { word }));
const calls: readonly ScriptedStep[] = [
  { text: "First.", toolCalls: [call("note", { text: "one" }), call("fail", { text: "two" }), ...looked] },
  { toolCalls: [call("explain", { word: "proviso" }), call("note", { text: "three" })] },
  { text: "A condition." },
  { text: "The work is done." },
];
const busy = { failure: "throttle", kind: "rate_limit", message: "Later.", retryAfterMs: 1 } as const;

interface Recorded {
  readonly id: string;
  readonly prompt: Prompt<unknown>;
  readonly steps: readonly ScriptedStep[];
  readonly options?: EvaluateOptions;
  readonly throttle?: { readonly maxAttempts: number };
  readonly isStreamed?: boolean;
}

/** Evaluates, and keeps what it came to. */
async function record({ id, prompt, steps, options = {}, throttle, isStreamed = false }: Recorded): Promise<unknown> {
  const session = createSession({ id: `session of ${id}` });
  const events: unknown[] = [];
  session.on("*", (event) => void events.push(event));
  const adapter = modelAdapter(scriptedModel([...steps]), throttle === undefined ? {} : { throttle });
  const given = { ...options, session, run: journal.run(id) };
  const came: Record<string, unknown> = {};
  try {
    const response = isStreamed ? await streamed(adapter.stream(prompt, given)) : await adapter.evaluate(prompt, given);
    Object.assign(came, { output: response.output, usage: response.usage, turns: response.turns });
  } catch (failure) {
    if (!isEvaluationFailure(failure)) throw failure;
    Object.assign(came, { code: failure.code, message: failure.message });
    expected[id] = { ...came, events: events.length, hash: contentHash(events) };
    return failure;
  }
  expected[id] = { ...came, events: events.length, hash: contentHash(events) };
  return undefined;
}

async function streamed(stream: ReturnType<ReturnType<typeof modelAdapter>["stream"]>) {
  for await (const _ of stream) void _;
  return stream.response;
}

await record({ id: "greeting", prompt: greeting.bind({ name: "Ada" }), steps: [{ text: "Dear Ada!" }] });
await record({
  id: "typed",
  prompt: sum.bind({ a: 2, b: 4 }),
  steps: [{ text: '{"sum": "six"}' }, { text: '{"sum": 6}' }],
  options: { maxRepairs: 2 },
});
await record({ id: "calls", prompt: work.bind(), steps: calls });
await record({ id: "streamed", prompt: work.bind(), steps: calls, isStreamed: true });
await record({ id: "refused", prompt: greeting.bind({ name: "Bob" }), steps: [busy, busy, { text: "Dear Bob!" }] });
await record({
  id: "failed",
  prompt: greeting.bind({ name: "Eve" }),
  steps: [{ failure: "provider", reason: "bad_request", message: "Broken." }],
});
// A limit ended it: it goes on in the tests.
await record({
  id: "cut",
  prompt: work.bind(),
  steps: [...calls.slice(0, 3), { ...busy, retry: false }],
  throttle: { maxAttempts: 1 },
});
const pays = { toolCalls: [call("pay", { cents: 500 }), call("pay", { cents: 5_000 })] };
const paying = { prompt: work.bind(), options: { policies: [chief] } };
await record({ ...paying, id: "waiting", steps: [pays] });
const waits = await record({ ...paying, id: "decided", steps: [pays] });
if (!(waits instanceof RunError)) throw new Error("The run does not wait.");
await journal.resolve(waits.pending?.token ?? "", allow());
const adapter = modelAdapter(scriptedModel([{ text: "Both are paid." }]));
const { output } = await adapter.evaluate(work.bind(), { policies: [chief], run: journal.run("decided") });
expected["decided"] = { output };

await journal.close();
writeFileSync(join(folder, "expected.json"), `${JSON.stringify(expected, undefined, 2)}\n`);
