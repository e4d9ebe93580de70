import { DefinitionError, definePrompt, type Section } from "@proviso/core";
import { expect, test } from "vitest";
import { z } from "zod";

const params = z.object({ city: z.string(), guide: z.string().optional(), days: z.number().optional() });

test("PRM-3 an optional param that is absent is the empty text, in texts and summaries", () => {
  const trip = definePrompt({
    key: "trip",
    params,
    sections: [
      { key: "plan", text: "Plan {{city}}{{guide}}, {{days}} days." },
      { key: "more", text: "x", summary: "For{{ guide }}.", visibility: "summary" },
    ],
  });
  const { text } = trip.bind({ city: "Rome" }).render();
  expect(text).toContain("Plan Rome,  days.\n\nFor.\n\n(Summary.");
  expect(trip.bind({ city: "Rome", guide: undefined, days: 0 }).render().text).toContain("Plan Rome, 0 days.");
});

test("PRM-3 what a loose schema declares may be absent, what it does not has to be there", () => {
  const loose = definePrompt({
    key: "loose",
    params: z.looseObject({ guide: z.string().optional() }),
    text: "{{guide}}|{{other}}" as string,
  });
  expect(loose.bind({ other: "there" }).render().text).toBe("|there");
  expect(() => loose.bind({ guide: "Ada" }).render()).toThrow('{{other}} in section "text" must be a string');
});

test("PRM-3 a null is no text", () => {
  const prompt = definePrompt({
    key: "p",
    params: z.object({ note: z.string().nullable() }),
    text: "{{note}}" as string,
  });
  expect(() => prompt.bind({ note: null }).render()).toThrow('{{note}} in section "text" must be a string');
});

test("PRM-5 a section that names a param is there exactly when the param is", () => {
  const trip = definePrompt({
    key: "trip",
    params,
    sections: [
      {
        key: "guide",
        title: "Guide",
        enabled: "guide",
        text: "Follow {{guide}}.",
        children: [{ key: "c", text: "Closely." }],
      },
      { key: "task", title: "Task", text: "Plan {{city}}." },
    ],
  });
  expect(trip.bind({ city: "Rome" }).render().text).toBe("## 2. Task\n\nPlan Rome.");
  expect(trip.bind({ city: "Rome", guide: "Ada" }).render().text).toBe(
    "## 1. Guide\n\nFollow Ada.\n\nClosely.\n\n## 2. Task\n\nPlan Rome.",
  );
  expect(trip.bind({ city: "Rome", guide: "" }).render().text).toContain("## 1. Guide");
});

test.each([
  [
    "guied",
    'The section "plan.guide" is enabled by the unknown param "guied". The prompt\'s params: city, guide, days.',
  ],
  [true, 'The section "plan.guide" must be enabled by a function of the params or by the name of one, not by true.'],
])("PRM-5 a section that is enabled by %j is a DefinitionError", (enabled, message) => {
  const children = [{ key: "guide", enabled }] as unknown as readonly Section[];
  const define = () => definePrompt({ key: "trip", params, sections: [{ key: "plan", children }] });
  expect(define).toThrow(DefinitionError);
  expect(define).toThrow(message);
});
