import { expect, inject, test } from "vitest";
import { run } from "./support.ts";

const wrong: readonly (readonly [environment: Readonly<Record<string, string>>, message: string])[] = [
  [
    { PROVISO_MODEL: "acme/m" },
    'PROVISO_MODEL is openai/<model>, anthropic/<model>, google/<model> or litellm/<model>, not "acme/m".',
  ],
  [{ PROVISO_MODEL: "gpt-5.4" }, "PROVISO_MODEL is openai/<model>"],
  [{ PROVISO_MODEL: "litellm/m" }, "LITELLM_API_KEY"],
  [{ PROVISO_MODEL: "openai/m" }, "OPENAI_API_KEY"],
  [{ PROVISO_MODEL: "anthropic/m" }, "ANTHROPIC_API_KEY"],
  [{ PROVISO_MODEL: "google/m" }, "GOOGLE_GENERATIVE_AI_API_KEY"],
];

// Each is a process.
test.each(inject("exhaustive") ? wrong : wrong.slice(0, 3))(
  "PRO-2 ERR-1 what is wrong is one clear line: %o",
  async (environment, message) => {
    const { code, stderr } = await run(environment);
    expect({ code, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, lines: 1 });
    expect(stderr).toContain(message);
  },
);
