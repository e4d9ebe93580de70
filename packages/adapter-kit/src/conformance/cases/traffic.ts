import { AbortedError, systemClock, type Message, type ModelRequest, type Prompt } from "@proviso/core";
import { expect } from "vitest";
import { modelAdapter, createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { answered, ask, eventsOf, systemOf, turnsOf, whyOf, type ConformanceCase } from "../kit.ts";
import { measuring, plain, saying, toolPrompt } from "../prompts.ts";
import type { ConformanceRequest } from "../script.ts";
import { expectSent } from "../sent.ts";
import { refusal } from "./failures.ts";

const hello = { text: "Hello." };
const call = (given: object | string, name: string) => ({ id: "call_1", name, arguments: given });
const edges = " \n\tspaced out \n ";
const long = "Grüße aus 東京, 👩‍👩‍👧 und so weiter; ".repeat(8);

/**
 * Cases which check that the whole prompt goes over the wire and nothing else does, and that the whole answer comes
 * back.
 */
export const trafficCases: readonly ConformanceCase[] = [
  {
    title: "LOOP-7 tools are sent on every turn, with what they are for and what they take",
    async run({ play }) {
      const script = [{ toolCalls: [call({ widthInMetres: 2 }, "measure")] }, { output: { heightInMetres: 3 } }];
      const played = await play(script, measuring);
      expect(answered(played).output).toEqual({ heightInMetres: 3 });
      for (const request of played.requests) {
        const sent = JSON.stringify(expectSent(request).body);
        for (const text of ['"measure"', "Measures how wide it is.", '"widthInMetres"']) expect(sent).toContain(text);
      }
      expect(played.requests).toHaveLength(2);
    },
  },
  {
    title: "OUT-6 the schema is sent on every turn, with what it asks for",
    async run({ play }) {
      const script = [{ toolCalls: [call({ widthInMetres: 2 }, "measure")] }, { output: { heightInMetres: 3 } }];
      for (const request of (await play(script, measuring)).requests)
        expect(schemaIn(request)).toContain("heightInMetres");
    },
  },
  {
    title: "LOOP-7 two user messages in a row are both sent",
    async run({ play }) {
      const [first, second] = ["Asked before, and not answered.", "Say hello."] as const;
      const { requests } = await play([hello], plain, { messages: [{ role: "user", text: first }] });
      const users = turnsOf(expectSent(requests[0])).flatMap(({ role, text }) => (role === "user" ? [text] : []));
      expect(users.join("\n").indexOf(first)).toBe(0);
      expect(users.join("\n").indexOf(second)).toBeGreaterThan(first.length);
    },
  },
  {
    title: "LOOP-7 white space at the edges of a text is part of it",
    async run({ play }) {
      const messages: readonly Message[] = [
        { role: "user", text: edges },
        { role: "assistant", text: "Yes.", toolCalls: [] },
      ];
      const played = await play([{ text: edges + edges.trim() + edges }], plain, { messages });
      expect(turnsOf(expectSent(played.requests[0]))[0]?.text).toBe(edges);
      expect(answered(played).messages.at(-1)?.text).toBe(edges + edges.trim() + edges);
    },
  },
  {
    title: "LOOP-2 arguments are replayed with the white space at their edges",
    async run({ play }) {
      const given = ` ${JSON.stringify({ text: "one" })}\n`;
      const { requests } = await play([{ toolCalls: [call(given, "note")] }, hello], toolPrompt);
      expect(turnsOf(expectSent(requests[1]))[1]?.calls).toEqual([`call_1 note ${given}`]);
    },
  },
  {
    title: "TOOL-5 white space at the edges of a result is part of it",
    async run({ play }) {
      const { requests } = await play([{ toolCalls: [call({ text: edges }, "note")] }, hello], toolPrompt);
      expect(turnsOf(expectSent(requests[1])).at(-1)?.text).toBe(`noted ${edges}`);
    },
  },
  {
    title: "LOOP-7 one adapter for several evaluations: nothing of one is in the next",
    async run({ open, way }) {
      await open([hello, refusal(400), { text: "Good day." }], async ({ adapter, requests }) => {
        const once = (text: string) => ask(adapter, saying(text), { session: createSession() }, way);
        expect((await once("One.")).output).toBe("Hello.");
        await expect(once("Two.")).rejects.toMatchObject({ code: "provider", reason: "bad_request" });
        const third = await once("Three.");
        expect(third.output).toBe("Good day.");
        expect(third.messages).toHaveLength(2);
        for (const [index, text] of ["One.", "Two.", "Three."].entries()) {
          const request = expectSent(requests()[index]);
          expect([systemOf(request), turnsOf(request)]).toEqual(["", [{ role: "user", text, calls: [] }]]);
        }
      });
    },
  },
  {
    title: "PRO-1 one adapter for evaluations at the same time: each has its own answer",
    async run({ open, way }) {
      const texts = ["a ", "b ", "c "].map((letter) => letter.repeat(100));
      const script = texts.map((text) => ({ text, eventMs: 2 }));
      await open(script, async ({ adapter }) => {
        const evaluations = texts.map(async () => {
          const session = createSession();
          const events = recordEvents(session);
          const { output } = await ask(adapter, plain, { session }, way);
          const deltas = eventsOf({ events }, "text.delta").map(({ text }) => text);
          expect(deltas.join("")).toBe(way === "stream" ? output : "");
          return output;
        });
        expect((await Promise.all(evaluations)).toSorted()).toEqual(texts);
      });
    },
  },
  {
    title: "PRM-9 the schemas of a prompt are not changed",
    async run({ play }) {
      const before = await specsOf(measuring);
      await play([{ output: { heightInMetres: 3 } }], measuring);
      expect(await specsOf(measuring)).toBe(before);
    },
  },
  {
    title: "LOOP-5 THR-6 what the service answered goes with the error, and with the response",
    async run({ play }) {
      const cut = { text: "Once upon a time", finishReason: "length" } as const;
      const busy = Array.from({ length: 5 }, () => refusal(500, {}, null, "Out of order."));
      const failed = [
        [[refusal(400, {}, null, "Out of place.")], "Out of place."],
        [busy, "Out of order."],
        [[cut], "Once upon a time"],
        // An SDK may keep only what it made of it.
        [[{ ...hello, fault: "html" }], ""],
      ] as const;
      for (const [script, text] of failed) {
        const { error } = await play(script, plain);
        expect(error?.providerPayload, text).toBeDefined();
        expect(JSON.stringify(error?.providerPayload)).toContain(text);
      }
      expect(JSON.stringify(answered(await play([hello], plain)).providerPayload ?? null)).toContain("Hello.");
    },
  },
  {
    title: "PRO-3 unknown fields are ignored",
    async run({ play }) {
      expect(whyOf(await play([{ ...hello, fault: "unknown_fields" }], plain))).toBe('answered: "Hello."');
    },
  },
  {
    title: "PRO-3 a stream that is cut inside its characters is put together",
    way: "stream",
    async run({ play }) {
      const played = await play([{ text: long, fault: "stream_split" }], plain);
      expect(answered(played).output).toBe(long);
      expect(played.requests).toHaveLength(1);
    },
  },
  {
    title: "LOOP-5 JSON of another shape is not asked for again",
    async run({ play }) {
      const played = await play([{ ...hello, fault: "wrong_shape" }], plain);
      expect(whyOf(played)).toBe("provider: invalid_response");
      expect(played.error).toMatchObject({ phase: "response" });
      expect(played.requests).toHaveLength(1);
    },
  },
  {
    title: "LOOP-5 a long answer arrives whole",
    way: "evaluate",
    async run({ play }) {
      const text = long.repeat(1_000);
      expect(answered(await play([{ text }], plain)).output === text).toBe(true);
    },
  },
  {
    title: "STR-1 stream asks for a stream: the text is emitted while it arrives",
    way: "stream",
    async run({ play }) {
      const played = await play([{ text: long, eventMs: 2 }], plain);
      expect(eventsOf(played, "text.delta").length).toBeGreaterThan(1);
    },
  },
  {
    title: "LIM-3 the signal reaches the wire: a request that is given up is given up there",
    async run({ open, way, skip }) {
      await open([{ ...hello, fault: "hang" }], async ({ adapter, awaited, requests }) => {
        if (awaited === undefined) return skip("the connection does not report what is awaited");
        const controller = new AbortController();
        const asked = ask(adapter, plain, { signal: controller.signal }, way);
        const ended = expect(asked).rejects.toBeInstanceOf(AbortedError);
        expect(await becomes(() => requests().length === 1 && awaited() === 1)).toBe(true);
        controller.abort();
        await ended;
        expect(await becomes(() => awaited() === 0)).toBe(true);
      });
    },
  },
];

function schemaIn({ output, system = "", messages }: ConformanceRequest): string {
  if (output !== undefined) return JSON.stringify(output);
  return [system, ...messages.map(({ text }) => text)].join("\n");
}

/** What a provider is given of a prompt's schemas, as text. */
async function specsOf(prompt: Prompt<unknown>): Promise<string> {
  let seen = "";
  const generate = async ({ tools, output }: ModelRequest) => {
    seen = JSON.stringify([tools, output]);
    return { message: { role: "assistant", text: "{}", toolCalls: [] }, finishReason: "stop" } as const;
  };
  const provider = { name: "reader", model: "reader", capabilities: { tools: true, nativeOutput: true }, generate };
  await modelAdapter(provider)
    .evaluate(prompt)
    .catch(() => {});
  return seen;
}

/** Waits until a condition holds, two seconds at most. */
async function becomes(holds: () => boolean): Promise<boolean> {
  for (let i = 0; i < 200 && !holds(); i++) await systemClock.sleep(10);
  return holds();
}
