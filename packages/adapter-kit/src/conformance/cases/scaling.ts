import { expect } from "vitest";
import { answered, systemOf, turnsOf, type ConformanceCase } from "../kit.ts";
import { notes, runbook } from "../prompts.ts";
import { expectSent } from "../sent.ts";

const noted = (id: string, text: string) => ({ id, name: "note", arguments: { text } });
const script = [
  { toolCalls: [{ id: "call_1", name: "open_sections", arguments: { keys: ["manual"], reason: "To note." } }] },
  { toolCalls: [noted("call_2", "one"), noted("call_3", "secret")] },
  { text: "Done." },
  { text: "Thanks." },
];

/** What a prompt brings along beside its text: the same over every adapter. */
export const scalingCases: readonly ConformanceCase[] = [
  {
    title: "VIS-3 LOOP-2 a section opens in place: the next request has its text, and the conversation so far",
    async run({ play }) {
      const { requests, session, ...played } = await play(script, runbook);
      const [first, second] = requests.map((request) => systemOf(expectSent(request)));
      expect(first).not.toContain("Keep notes.");
      expect(second).toContain("## 2. Manual\n\nKeep notes.");
      const [before = [], after = []] = requests.map(turnsOf);
      expect(after.slice(0, before.length)).toEqual(before);
      expect(answered({ requests, session, ...played }).output).toBe("Thanks.");
      expect(session.get(notes)).toEqual(["one"]);
    },
  },
  {
    title: "LOOP-3 TOOL-10 TOOL-11 TOOL-12 denials, feedback and what is missing reach the model as turns",
    async run({ play }) {
      const { requests } = await play(script, runbook);
      const turns = requests.map(turnsOf);
      const answers = (turns[2] ?? []).filter(({ role }) => role === "tool").map(({ text }) => text);
      expect(answers).toHaveLength(3);
      for (const answer of answers) expect(answer).toContain('<feedback from="reminder">\nMind the time.\n</feedback>');
      expect(answers[2]).toMatch(/^Not that\./);
      expect(turns[3]?.at(-1)).toEqual({ role: "user", text: "Say thanks.", calls: [] });
    },
  },
];
