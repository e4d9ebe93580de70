import { definePrompt, type EvaluationSettings } from "@proviso/core";
import { expect } from "vitest";
import { answered, eventsOf, turnsOf, whyOf, type Bench, type ConformanceCase } from "../kit.ts";
import { plain } from "../prompts.ts";
import type { ConformanceRequest } from "../script.ts";
import { expectSent } from "../sent.ts";

/** One value for each setting, of those that can be recognised in a body, its own trace there. */
const values: readonly (readonly [EvaluationSettings, trace?: string | RegExp])[] = [
  [{ temperature: 0.4375 }, "0.4375"],
  [{ topP: 0.8125 }, "0.8125"],
  [{ maxOutputTokens: 4_321 }, "4321"],
  [{ stop: ["the end of it"] }, '"the end of it"'],
  [{ seed: 76_543 }, "76543"],
  // Services that know no effort are sent the tokens that it comes to.
  [{ reasoning: { effort: "low" } }, /"low"|"budget_tokens":\d|"thinkingBudget":\d/],
  [{ logprobs: 3 }],
  [{ serviceTier: "flex" }, '"flex"'],
  [{ cache: "auto" }],
];

/** Whether the adapter takes the settings: what it does not take, it has refused before anything was sent. */
async function isTaken({ play }: Bench, settings: EvaluationSettings, trace?: string | RegExp): Promise<boolean> {
  const played = await play([{ text: "Hello." }], plain, { settings });
  if (played.error === undefined) {
    const body = JSON.stringify(expectSent(played.requests[0]).body);
    const where = `${JSON.stringify(settings)} in the body`;
    if (typeof trace === "string") expect(body, where).toContain(trace);
    else if (trace !== undefined) expect(body, where).toMatch(trace);
    return true;
  }
  expect(whyOf(played)).toBe("provider: bad_request");
  expect(played.error.message).toContain(`setting ${Object.keys(settings).join()}`);
  expect(played.requests, "nothing was sent").toEqual([]);
  expect(eventsOf(played, "provider.requested")).toEqual([]);
  return false;
}

/** The system text with single blanks: on some wires each of its pieces is a message. */
function systemText({ system = "", messages }: ConformanceRequest): string {
  const texts = messages.filter(({ role }) => role === "system").map(({ text }) => text);
  return (texts.length === 0 ? system : texts.join(" ")).replaceAll(/\s+/g, " ");
}

const cached = definePrompt({
  ns: "conformance",
  key: "plain",
  sections: [
    { key: "guide", text: "Be brief.", cached: true },
    { key: "more", text: "Be kind." },
    { key: "request", text: "Say hello.", role: "user", cached: true },
  ],
}).bind();
const uncached = definePrompt({
  ns: "conformance",
  key: "plain",
  sections: [
    { key: "guide", text: "Be brief." },
    { key: "more", text: "Be kind." },
    { key: "request", text: "Say hello.", role: "user" },
  ],
}).bind();

/** What an evaluation wants of its model. */
export const settingCases: readonly ConformanceCase[] = [
  {
    title: "SET-1 SET-2 each setting is sent, or refused before anything is",
    async run(bench) {
      for (const [settings, trace] of values) await isTaken(bench, settings, trace);
    },
  },
  {
    title: "SET-1 what is not set is not sent",
    async run({ play }) {
      const played = await play([{ text: "Hello." }], plain, { settings: {} });
      const before = await play([{ text: "Hello." }], plain);
      expect(played.requests.map(({ body }) => body)).toEqual(before.requests.map(({ body }) => body));
    },
  },
  {
    title: "SET-2 a value out of its range is refused as an option",
    async run({ play }) {
      const played = await play([], plain, { settings: { temperature: 3 } });
      expect(played.error?.message).toContain("settings.temperature must be a number from 0 to 2");
      expect(played.requests).toEqual([]);
    },
  },
  {
    title: "SET-4 options of another provider are passed over",
    async run({ play }) {
      const settings = { providerOptions: { another: { field: "of-another" } } } as EvaluationSettings;
      const played = await play([{ text: "Hello." }], plain, { settings });
      expect(answered(played).output).toBe("Hello.");
      expect(JSON.stringify(expectSent(played.requests[0]).body)).not.toContain("of-another");
    },
  },
  {
    title: "CCH-1 without cache a cached section is sent as any other",
    async run({ play }) {
      const marked = await play([{ text: "Hello." }], cached);
      const plainly = await play([{ text: "Hello." }], uncached);
      const [bodies, others] = [marked, plainly].map(({ requests }) =>
        requests.map(({ body }) => JSON.stringify(body)),
      );
      expect(bodies).toEqual(others);
      expect(bodies).toHaveLength(1);
    },
  },
  {
    title: "CCH-3 with cache the service reads the same texts",
    async run(bench) {
      if (!(await isTaken(bench, { cache: "auto" }))) {
        bench.skip("the adapter takes no cache");
        return;
      }
      const marked = await bench.play([{ text: "Hello." }], cached, { settings: { cache: "auto" } });
      const [request] = marked.requests;
      expect(systemText(expectSent(request))).toBe("Be brief. Be kind.");
      expect(turnsOf(expectSent(request))).toEqual([{ role: "user", text: "Say hello.", calls: [] }]);
      expect(answered(marked).output).toBe("Hello.");
    },
  },
];
