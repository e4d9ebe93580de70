import { parseMessages, type Message } from "@proviso/core";
import fc from "fast-check";
import { expect, inject, test } from "vitest";
import { planShortening, type Measured } from "../../src/context/plan.ts";
import { shorten } from "../../src/context/shorten.ts";
import { sizeOf } from "../../src/context/size.ts";
import { standInOf, standInText, stubLength } from "../../src/context/stand-in.ts";
import { answeredTurns } from "../../src/context/turns.ts";
import { bareRun } from "./support.ts";

const numRuns = inject("exhaustive") ? 13_000 : 3_000;

const text = fc.integer({ min: 0, max: 900 }).map((length) => "x".repeat(length));
const turn = fc.record({
  said: fc.option(text, { nil: undefined }),
  answer: text,
  results: fc.array(text, { maxLength: 4 }),
});
const history = fc.record({
  turns: fc.array(turn, { maxLength: 12 }),
  isAsked: fc.boolean(),
  knowsQuestion: fc.boolean(),
  at: fc.nat(40),
  /** The place of a message that stands for others already. */
  standIn: fc.option(fc.nat(60), { nil: undefined }),
});

/** Messages as a conversation has them: calls with their answers, and a question of the user's somewhere. */
function messagesOf({
  turns,
  isAsked,
  standIn,
}: typeof history extends fc.Arbitrary<infer Given> ? Given : never): Message[] {
  let calls = 0;
  const messages = turns.flatMap(({ said, answer, results }): Message[] => {
    const toolCalls = results.map(() => ({ id: `call_${(calls += 1)}`, name: "look", arguments: "{}" }));
    return [
      ...(said === undefined ? [] : [{ role: "user", text: said } as const]),
      { role: "assistant", text: answer, toolCalls },
      ...results.map((result, index): Message => ({
        role: "tool",
        callId: toolCalls[index]?.id ?? "",
        name: "look",
        text: result,
        isError: false,
      })),
    ];
  });
  if (isAsked || messages.length === 0) messages.push({ role: "user", text: "And now?" });
  const before = standIn !== undefined && messages[standIn % messages.length];
  // Calls and their answers are neighbours.
  if (before !== false && before?.role !== "tool") {
    const text = standInText({ count: 7, summarised: 7, summary: "x".repeat(200) });
    messages.splice(messages.indexOf(before as Message), 0, { role: "user", text });
  }
  return messages;
}

function measured(messages: readonly Message[], question: number | undefined, beside: number): Measured {
  const sizes = messages.map((message) => sizeOf(message));
  const stubSizes = messages.map((message, place) => {
    const size = sizes[place] as number;
    if (message.role !== "tool") return size;
    return size - Math.max(0, message.text.length - stubLength(message.text.length, true));
  });
  const standIn = (replaced: number): number => Math.min(600, Math.max(120, 120 + replaced / 2));
  return { messages, question, sizes, stubSizes, beside, standIn };
}

/** The places that may never give way, found without the planner. */
function stayingIn(messages: readonly Message[], question: number | undefined): Set<number> {
  const staying = new Set<number>(question === undefined ? [] : [question]);
  const places = messages.map((_, place) => place);
  const isWord = (message: Message): boolean => message.role === "user" && standInOf(message) === undefined;
  const lastUser = places.filter((place) => isWord(messages[place] as Message)).at(-1);
  if (lastUser !== undefined) staying.add(lastUser);
  if (messages.at(-1)?.role === "tool") {
    const lastAnswer = places.filter((place) => messages[place]?.role === "assistant").at(-1) ?? 0;
    for (const place of places.slice(lastAnswer)) staying.add(place);
  }
  return staying;
}

/** The least that any plan can come to. */
function leastOf({ stubSizes, beside, standIn }: Measured, staying: ReadonlySet<number>): number {
  const sum = (places: readonly number[]): number => places.reduce((all, size) => all + size, 0);
  const kept = sum(stubSizes.filter((_, place) => staying.has(place)));
  const others = stubSizes.filter((_, place) => !staying.has(place));
  return beside + kept + (others.length === 0 ? 0 : Math.min(sum(others), standIn(sum(others))));
}

test("CTX-4 CTX-5 random histories are shortened in order, as far as they have to be, to what parseMessages accepts", async () => {
  let shortened = 0;
  const goals = fc.record({
    beside: fc.nat(500),
    target: fc.nat(4_000),
    more: fc.nat(2_000),
    spare: fc.nat(1_500),
    keepTurns: fc.nat(6),
  });
  await fc.assert(
    fc.asyncProperty(history, goals, async (given, { beside, target, more, spare, keepTurns }) => {
      const messages = messagesOf(given);
      const users = messages.flatMap((message, place) =>
        message.role === "user" && standInOf(message) === undefined ? [place] : [],
      );
      const question = given.knowsQuestion ? users[given.at % users.length] : undefined;
      const all = measured(messages, question, beside);
      const most = target + more;
      const room = most + spare;
      const plan = planShortening(all, { target, most, room, keepTurns });
      const staying = stayingIn(messages, question);
      // None that could have fitted did not.
      expect(plan.tokens).toBeLessThanOrEqual(Math.max(room, leastOf(all, staying)) + 1e-6);
      // What no model has seen yet stays whole where that fits.
      const unseen = messages.findLastIndex(({ role }) => role !== "tool") + 1;
      const stubSizes = all.stubSizes.map((size, place) => (place < unseen ? size : (all.sizes[place] as number)));
      const least = leastOf({ ...all, stubSizes }, staying);
      if (least <= room) expect(plan.stubs.filter((place) => place >= unseen)).toEqual([]);
      if (least <= room) expect(plan.tokens).toBeLessThanOrEqual(Math.max(most, least) + 1e-6);
      expect(plan.replaced.filter((place) => staying.has(place))).toEqual([]);
      checkOrder(plan, messages, { target, most, keepTurns, all, staying });

      const run = bareRun({ evaluationId: "e", turn: 1, history: { question } });
      const now = await shorten(run, messages, { plan, rate: 1, summary: undefined, room, isReadable: true });
      if (now === undefined || !("messages" in now)) throw new Error("It came to a failure.");
      expect(parseMessages(now.messages)).toHaveLength(
        messages.length - plan.replaced.length + (plan.replaced.length === 0 ? 0 : 1),
      );
      if (question !== undefined) expect(now.messages[now.question ?? -1]).toBe(messages[question]);
      const left = new Set(now.messages.map((message) => (message.role === "tool" ? message.callId : message)));
      const stays = [...staying].map((place) => messages[place] as Message);
      const lost = stays.filter((message) => !left.has(message.role === "tool" ? message.callId : message));
      expect(lost).toEqual([]);
      const standIns = now.messages.map(standInOf).filter((one) => one !== undefined);
      const before = messages.map(standInOf).filter((one) => one !== undefined);
      const gone = plan.replaced.length;
      // There is one at most, which took in the one before it as soon as something stood behind that.
      expect(standIns.map(({ count }) => count).reduce((sum, count) => sum + count, 0)).toBe(
        before.length === 0 ? gone : isTaken(plan, messages) ? gone - 1 + 7 : gone + 7,
      );
      if (plan.replaced.length > 0) shortened += 1;
    }),
    { numRuns },
  );
  expect(shortened).toBeGreaterThan(numRuns / 13);
}, 1_800_000);

/** Whether the message that stood for others gave way. */
function isTaken({ replaced }: ReturnType<typeof planShortening>, messages: readonly Message[]): boolean {
  return replaced.some((place) => standInOf(messages[place] as Message) !== undefined);
}

interface Order {
  readonly target: number;
  readonly most: number;
  readonly keepTurns: number;
  readonly all: Measured;
  readonly staying: ReadonlySet<number>;
}

/** Nothing of the newest turns is touched while the oldest would do, and what gives way are the oldest turns. */
function checkOrder(
  plan: ReturnType<typeof planShortening>,
  messages: readonly Message[],
  { most, keepTurns, all, staying }: Order,
): void {
  const turns = answeredTurns(messages);
  const start = turns[Math.max(0, turns.length - keepTurns)]?.start ?? messages.length;
  const newestStart = keepTurns === 0 ? messages.length : start;
  const touched = [...plan.stubs, ...plan.replaced];
  const { sizes, stubSizes, beside, standIn } = all;
  const oldest = sizes.map((_, place) => place).filter((place) => place < newestStart);
  if (touched.some((place) => place >= newestStart)) {
    // Without the newest turns it would not have done.
    const rest = sizes.slice(newestStart).reduce((sum, size) => sum + size, beside);
    const stays = oldest
      .filter((place) => staying.has(place))
      .reduce((sum, place) => sum + (stubSizes[place] as number), rest);
    const goes = oldest.filter((place) => !staying.has(place)).map((place) => stubSizes[place] as number);
    const gone = goes.reduce((sum, size) => sum + size, 0);
    expect(stays + (goes.length === 0 ? 0 : Math.min(gone, standIn(gone)))).toBeGreaterThan(most);
  }
  // What gives way is a beginning of the turns, but for the messages that stay.
  const last = plan.replaced.at(-1) ?? -1;
  const before = sizes.map((_, place) => place).filter((place) => place <= last && !staying.has(place));
  expect(plan.replaced).toEqual(before);
}
