import { expect } from "vitest";
import { recordEvents } from "@proviso/runtime/testing";
import { createSession } from "@proviso/runtime";
import { answered, eventsOf, settlesWithin, type ConformanceCase } from "../kit.ts";
import { plain, toolPrompt, totalPrompt } from "../prompts.ts";
import { expectSent } from "../sent.ts";

const call = { id: "call_1", name: "note", arguments: { text: "one" } };
const long = "Once upon a time 👩‍👩‍👧 there was a language; ".repeat(8);

/** Events of a stream. */
export const streamingCases: readonly ConformanceCase[] = [
  {
    title: "STR-1 evaluate asks for no stream and emits no deltas",
    way: "evaluate",
    async run({ play }) {
      const played = await play([{ text: long }], plain);
      expect(answered(played).output).toBe(long);
      expect(eventsOf(played, "text.delta")).toEqual([]);
      const { body } = expectSent(played.requests[0]);
      expect((body as { readonly stream?: unknown }).stream ?? false).toBe(false);
    },
  },
  {
    title: "STR-1 the deltas add up to the text",
    way: "stream",
    async run({ play }) {
      const played = await play([{ text: long }], plain);
      expect(
        eventsOf(played, "text.delta")
          .map(({ text }) => text)
          .join(""),
      ).toBe(long);
      expect(answered(played).output).toBe(long);
      expect(eventsOf(played, "text.reset")).toEqual([]);
    },
  },
  {
    title: "STR-1 the deltas of each turn with calls add up to its text",
    way: "stream",
    async run({ play }) {
      const played = await play([{ text: long, toolCalls: [call] }, { text: `${long}!` }], toolPrompt);
      const deltas = eventsOf(played, "text.delta");
      const texts = [1, 2].map((turn) => deltas.flatMap((event) => (event.turn === turn ? [event.text] : [])).join(""));
      expect(texts).toEqual([long, `${long}!`]);
      expect(answered(played).output).toBe(`${long}!`);
      expect(eventsOf(played, "text.reset")).toEqual([]);
    },
  },
  {
    title: "THR-7 a turn that is asked again repeats no tool",
    way: "stream",
    async run({ play }) {
      const script = [{ toolCalls: [call] }, { text: long, fault: "stream_cut" }] as const;
      const played = await play(script, toolPrompt);
      expect(answered(played).output).toBe(long);
      expect(played.requests).toHaveLength(3);
      expect(eventsOf(played, "tool.requested")).toHaveLength(1);
    },
  },
  {
    title: "THR-9 after a stream that broke, text.reset comes before the next attempt's deltas",
    way: "stream",
    async run({ play }) {
      const played = await play([{ text: long, fault: "stream_cut" }], plain);
      expect(answered(played).output).toBe(long);
      expect(played.requests).toHaveLength(2);
      const emitted = played.events.filter(({ type }) => type === "text.delta" || type === "text.reset");
      const reset = emitted.findIndex(({ type }) => type === "text.reset");
      const before = emitted.slice(0, reset === -1 ? 0 : reset);
      const after = emitted.slice(reset + 1);
      // An attempt that emitted no text before it broke has nothing to take back.
      expect(before.length > 0).toBe(reset !== -1);
      expect(after.map((event) => ("text" in event ? event.text : "")).join("")).toBe(long);
    },
  },
  {
    title: "STR-3 leaving the iteration early ends the evaluation, and no response is an unhandled rejection",
    way: "stream",
    async run({ open }) {
      await open([{ text: long, eventMs: 50 }], async ({ adapter, requests }) => {
        const session = createSession();
        const events = recordEvents(session);
        const stream = adapter.stream(plain, { session });
        const left = (async () => {
          for await (const event of stream) if (event.type === "text.delta") break;
        })();
        expect(await settlesWithin(2_000, left)).toBe(true);
        await expect(stream.response).rejects.toMatchObject({ code: "aborted" });
        expect(events.at(-1)?.type).toBe("prompt.failed");
        expect(requests()).toHaveLength(1);
      });
    },
  },
  {
    title: "STR-4 the last output.delta is the whole output",
    way: "stream",
    async run({ play }) {
      const played = await play([{ output: { total: 123_456 } }], totalPrompt);
      expect(answered(played).output).toEqual({ total: 123_456 });
      expect(eventsOf(played, "output.delta").at(-1)?.partial).toEqual({ total: 123_456 });
    },
  },
];
