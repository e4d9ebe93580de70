import { deadlineIn, Filesystem, provide, type PromptResponse } from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { openai } from "@proviso/adapter-openai";
import { startSimulator, type SimulatorRule } from "@proviso/simulator";
import { expect, test } from "vitest";
import { showProgress } from "../progress.ts";
import type { Review } from "../report.ts";
import { notes, review } from "../review-prompt.ts";
import { simulatedReviewer } from "../simulated-reviewer.ts";
import { messy } from "./support.ts";

interface Reviewed {
  readonly response: PromptResponse<Review>;
  readonly kept: readonly unknown[];
  readonly requests: readonly { readonly status: number; readonly body: unknown; readonly answer: unknown }[];
}

async function reviewed(rules: readonly SimulatorRule[], api: "responses" | "chat" = "responses"): Promise<Reviewed> {
  await using simulator = await startSimulator({ rules });
  const adapter = openai({ model: "gpt-test", api, apiKey: "k", baseURL: simulator.baseURL });
  const session = createSession();
  const response = await adapter.evaluate(review.bind({ request: "Review it." }), {
    session,
    resources: [provide(Filesystem, memoryFilesystem(messy))],
  });
  return { response, kept: session.get(notes), requests: simulator.requests };
}

test.each(["responses", "chat"] as const)("DEMO-2 the requests over api %s show the whole review", async (api) => {
  const { response, kept, requests } = await reviewed([simulatedReviewer], api);
  expect(requests.every(({ status }) => status === 200)).toBe(true);
  const calls = response.toolResults.map(({ name, turn }) => `${turn} ${name}`);
  expect(calls.slice(0, 7)).toEqual(["1 list_files", ...Array(5).fill("2 read_file"), "3 read_file"]);
  const failed = response.toolResults.filter(({ result }) => !result.success);
  expect(failed.map(({ name, params }) => [name, params])).toEqual([
    ["take_note", { path: "src/a.test.ts", note: "look here for the tests" }],
  ]);
  expect(JSON.stringify(requests.at(-1)?.body)).toContain("src/a.test.ts does not exist; nothing was noted.");
  expect(kept).toHaveLength(2);
  expect(JSON.stringify(kept)).not.toContain("src/a.test.ts");
  expect(response.text).toBeNull();
  expect(JSON.stringify(requests.at(-1)?.answer)).toContain("nextSteps");
});

test("DEMO-7 a 429 with Retry-After on any turn delays the review and nothing more", async () => {
  const plain = await reviewed([simulatedReviewer]);
  for (let turn = 0; turn < plain.response.turns; turn++) {
    let refused = false;
    const refuseOnce: SimulatorRule = ({ index }) => {
      if (refused || index !== turn) return undefined;
      refused = true;
      return {
        status: 429,
        headers: { "retry-after-ms": "20" },
        body: { error: { message: "slow down", code: "rate_limit_exceeded" } },
      };
    };
    const delayed = await reviewed([refuseOnce, simulatedReviewer]);
    expect(delayed.requests.map(({ status }) => status)).toContain(429);
    expect(delayed.response.output).toEqual(plain.response.output);
    expect(delayed.response.turns).toBe(plain.response.turns);
    expect(delayed.response.usage).toEqual(plain.response.usage);
    expect(delayed.kept).toEqual(plain.kept);
  }
}, 60_000);

test(
  "DEMO-8 a deadline of 200 ms against a slow simulator ends the evaluation in under 300 ms",
  { retry: 2 },
  async () => {
    await using simulator = await startSimulator({ rules: [simulatedReviewer], latencyMs: 30_000 });
    const adapter = openai({ model: "gpt-test", api: "responses", apiKey: "k", baseURL: simulator.baseURL });
    const startedAt = performance.now();
    const failure = adapter.evaluate(review.bind({ request: "Review it." }), {
      deadline: deadlineIn(200),
      resources: [provide(Filesystem, memoryFilesystem(messy))],
    });
    await expect(failure).rejects.toMatchObject({ code: "deadline", phase: "request" });
    expect(performance.now() - startedAt).toBeLessThan(300);
  },
);

test("DEMO-9 on a terminal progress is one line that is written over", async () => {
  const written: string[] = [];
  const session = createSession();
  const clear = showProgress(session, deadlineIn(60_000), {
    isTTY: true,
    columns: 40,
    write: (text) => written.push(text),
  });
  await using simulator = await startSimulator({ rules: [simulatedReviewer] });
  const adapter = openai({ model: "gpt-test", api: "responses", apiKey: "k", baseURL: simulator.baseURL });
  await adapter.evaluate(review.bind({ request: "Review it." }), {
    session,
    resources: [provide(Filesystem, memoryFilesystem(messy))],
  });
  clear();
  const lines = written.filter((text) => text.endsWith("\n"));
  expect(lines).toEqual([
    "  take_note failed, its changes are undone: src/a.test.ts does not exist; nothing was noted.\n",
  ]);
  const live = written.filter((text) => text.startsWith("\r\u001b[2Kturn"));
  expect(live.length).toBeGreaterThan(5);
  expect(live.every((text) => text.length <= 40 + "\r\u001b[2K".length)).toBe(true);
});
