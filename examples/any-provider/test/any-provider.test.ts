import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { simulatedCounter } from "../provider.ts";
import { run } from "./support.ts";

const counted = '9 words, the longest is "everywhere".\n2 turns';

test("PRO-1 without PROVISO_MODEL the simulator answers", async () => {
  const { code, stdout, stderr } = await run({});
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("Asking a simulator on http://127.0.0.1:");
  expect(stdout).toContain(counted);
});

test("AIS-19 PRO-1 the same program, each provider by its name", async () => {
  await using simulator = await startSimulator({ rules: [simulatedCounter] });
  const litellm = { LITELLM_BASE_URL: simulator.baseURL, LITELLM_API_KEY: "none" };
  const openai = { OPENAI_BASE_URL: simulator.baseURL, OPENAI_API_KEY: "none" };
  for (const environment of [
    { PROVISO_MODEL: "litellm/anthropic/claude-sonnet-4-5", ...litellm },
    { PROVISO_MODEL: "openai/gpt-5.4", ...openai },
  ]) {
    const { code, stdout } = await run(environment);
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining(counted) });
    expect(stdout).toContain(`Asking ${environment.PROVISO_MODEL}.`);
  }
  const models = simulator.requests.map(({ body }) => (body as { readonly model: string }).model);
  expect(new Set(models)).toEqual(new Set(["anthropic/claude-sonnet-4-5", "gpt-5.4"]));
});
