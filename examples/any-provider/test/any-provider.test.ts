import { execFile } from "node:child_process";
import { startSimulator } from "@proviso/simulator";
import { expect, test } from "vitest";
import { simulatedCounter } from "../provider.ts";

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

function run(environment: Readonly<Record<string, string>>): Promise<Ended> {
  const program = new URL("../main.ts", import.meta.url).pathname;
  const env = { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"], ...environment };
  return new Promise((resolve) => {
    execFile(process.execPath, ["--conditions=@proviso/source", program], { env }, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

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

test.each([
  [
    { PROVISO_MODEL: "acme/m" },
    'PROVISO_MODEL is openai/<model>, anthropic/<model>, google/<model> or litellm/<model>, not "acme/m".',
  ],
  [{ PROVISO_MODEL: "gpt-5.4" }, "PROVISO_MODEL is openai/<model>"],
  [{ PROVISO_MODEL: "litellm/m" }, "LITELLM_API_KEY"],
  [{ PROVISO_MODEL: "openai/m" }, "OPENAI_API_KEY"],
  [{ PROVISO_MODEL: "anthropic/m" }, "ANTHROPIC_API_KEY"],
  [{ PROVISO_MODEL: "google/m" }, "GOOGLE_GENERATIVE_AI_API_KEY"],
])("PRO-2 ERR-1 what is wrong is one clear line: %o", async (environment, message) => {
  const { code, stderr } = await run(environment);
  expect({ code, lines: stderr.trim().split("\n").length }).toEqual({ code: 1, lines: 1 });
  expect(stderr).toContain(message);
});
