import { describe, expect, test } from "vitest";
import { z } from "zod";
import { definePrompt } from "@proviso/core";
import { tool } from "./support/tools.ts";

const define = () =>
  definePrompt({
    ns: "a",
    key: "b",
    params: z.object({ x: z.string(), y: z.number() }),
    output: z.object({ answer: z.string() }),
    outputInstructions: true,
    sections: [
      { key: "s", title: "S", text: "{{x}} {{y}}", tools: [tool("t")] },
      { key: "u", text: "{{y}}", role: "user" },
    ],
  });

describe("PRM-9 pure rendering", () => {
  test("PRM-9 the same template and params give the same bytes, however often and in whatever order", () => {
    const template = define();
    const prompt = template.bind({ x: "1", y: 2 });
    const first = prompt.render();
    template.bind({ x: "other", y: 3 }).render();
    prompt.render({ outputInstructions: false });
    prompt.asText().render();
    for (const again of [
      prompt.render(),
      template.bind({ y: 2, x: "1" }).render(),
      define().bind({ x: "1", y: 2 }).render(),
    ]) {
      expect(again.text).toBe(first.text);
      expect(again.system).toBe(first.system);
      expect(again.user).toBe(first.user);
      expect(again.descriptor).toEqual(first.descriptor);
      expect(again.output?.jsonSchema).toEqual(first.output?.jsonSchema);
    }
  });

  test("PRM-9 defining and binding render nothing", () => {
    let asked = 0;
    const enabled = (): boolean => (asked += 1) > 0;
    const prompt = definePrompt({ ns: "a", key: "b", sections: [{ key: "s", text: "x", enabled }] }).bind({});
    expect(asked).toBe(0);
    prompt.render();
    expect(asked).toBe(1);
  });
});
