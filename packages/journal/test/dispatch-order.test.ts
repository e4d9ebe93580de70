// Several that dispatch at the same time: overlapping calls, and the application beside them, also from its listeners.
import { defineEvent, definePrompt, defineSlice, defineTool, type Session } from "@proviso/core";
import { memoryJournal, type JournalEntry } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { heard, noted } from "./runs-support.ts";
import { journalWith, listed } from "./support.ts";

const answered = defineEvent("answered", z.object({ text: z.string() }));

const order = defineSlice({
  name: "order",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on(answered, (draft, { text }) => void draft.push(text));
    on("tool.invoked", (draft, { callId }) => void draft.push(`${callId} ends`));
  },
});
const log = defineSlice({
  name: "log",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => draft.push(text));
    on(answered, (draft, { text }) => draft.push(text));
  },
});

/** Dispatches twice after so many turns of the loop, and the application before and in between; it may fail then. */
const promptOf = (beside: (text: string) => void) =>
  definePrompt({
    key: "notes",
    slices: [order, log],
    sections: [
      {
        key: "task",
        text: "Note.",
        tools: [
          defineTool({
            name: "note",
            description: "Notes.",
            input: z.object({ text: z.string(), after: z.number(), fails: z.boolean() }),
            uses: [],
            transactional: true,
            async execute({ text, after, fails }, { session }) {
              for (let turn = 0; turn < after; turn++) await Promise.resolve();
              beside(`before ${text}`);
              session.dispatch(noted({ text }));
              beside(`beside ${text}`);
              session.dispatch(noted({ text: `${text} again` }));
              if (fails) throw new Error("It fails.");
            },
          }),
        ],
      },
    ],
  }).bind();

interface Situation {
  /** The calls, in the model's order, with when each dispatches. */
  readonly calls: readonly { readonly text: string; readonly after: number; readonly fails?: boolean }[];
  /** Whether the application dispatches while they run. */
  readonly isBeside?: boolean;
  /** Whether its listeners do when a call ends, and when they receive what a call dispatched. */
  readonly listens?: boolean;
}

const situations: readonly (readonly [string, Situation])[] = [
  ["in the model's order", { calls: [at("a", 1), at("b", 20), at("c", 40)] }],
  ["at the same time", { calls: [at("a", 1), at("b", 1), at("c", 1)] }],
  ["the other way round", { calls: [at("a", 40), at("b", 20), at("c", 1)] }],
  ["where one fails", { calls: [at("a", 40), { ...at("b", 20), fails: true }, at("c", 1)] }],
  ["beside the application", { calls: [at("a", 1)], isBeside: true }],
  ["all of that", { calls: [at("a", 40), at("b", 20), at("c", 1)], isBeside: true }],
  ["with listeners that dispatch", { calls: [at("a", 1)], listens: true }],
  ["with listeners among others", { calls: [at("a", 20), at("b", 1)], isBeside: true, listens: true }],
];

function at(text: string, after: number): Situation["calls"][number] {
  return { text, after };
}

function listen(session: Session): void {
  session.on("tool.invoked", ({ callId }) => void session.dispatch(answered({ text: `saw ${callId}` })));
  session.on(noted, ({ text }) => void session.dispatch(answered({ text: `heard of ${text}` })));
}

/** A run whose model fails when its calls have ended, so that it can go on. */
async function recorded({ calls, isBeside = false, listens = false }: Situation) {
  const journal = memoryJournal();
  const session = createSession({ id: "s" });
  const events = heard(session);
  if (listens) listen(session);
  const prompt = promptOf((text) => void (isBeside && session.dispatch(answered({ text }))));
  const toolCalls = calls.map((call) => ({ name: "note", arguments: { fails: false, ...call } }));
  const steps: readonly ScriptedStep[] = [{ toolCalls }, { failure: "throttle", kind: "network", message: "Cut." }];
  const adapter = modelAdapter(scriptedModel([...steps]), { throttle: { maxAttempts: 1 } });
  await adapter.evaluate(prompt, { session, run: journal.run("r") }).catch(() => {});
  return { journal, session, events };
}

const again = promptOf(() => {});

test.each(situations)("RPL-1 JRN-1 what several dispatch %s is reduced again in that order", async (_, situation) => {
  const { journal, session, events } = await recorded(situation);
  const [first] = situation.calls.toSorted((one, other) => one.after - other.after);
  expect(session.get(order).find((text) => !text.startsWith("before"))).toBe(first?.text);
  for (const tools of ["recorded", "run"] as const) {
    const replayed = await replay(again, journal.replay("r", { tools }));
    expect(replayed.events).toEqual(events);
    expect(JSON.stringify(replayed.session)).toBe(JSON.stringify(session));
  }
  const read = await journal.session("r", { slices: [order, log] });
  expect([read.get(order), read.get(log)]).toEqual([session.get(order), session.get(log)]);
});

test.each(situations)(
  "RSM-2 FRK-2 a run goes on, and is forked, with what several dispatched %s",
  async (_, situation) => {
    const { journal, session } = await recorded(situation);
    const now = [session.get(order), session.get(log)];
    const steps = (await journal.describe("r"))?.steps ?? 0;
    for (const run of [journal.fork("r", { at: steps, id: "f" }), journal.run("r")]) {
      const next = createSession({ id: "s" });
      await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(again, { session: next, run });
      expect([next.get(order), next.get(log)]).toEqual(now);
    }
  },
);

test("JRN-8 an older record, which has no order, is read in the model's", async () => {
  const { journal } = await recorded({ calls: [at("a", 40), at("b", 1)], isBeside: true });
  const older = (await listed(journal.entries("r"))).map((entry): JournalEntry => {
    if (entry.kind !== "dispatched") return entry;
    const { order: _, before, ...rest } = entry;
    return rest.callId === undefined ? rest : { ...rest, before };
  });
  const { session } = await replay(again, (await journalWith(older)).replay("r"));
  const beside = ["before b", "beside b", "before a", "beside a"];
  expect(session.get(order).slice(0, 8)).toEqual([...beside, "a", "a again", "b", "b again"]);
});
