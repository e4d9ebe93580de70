import { deadlineIn, Filesystem, provide, systemClock, type PromptResponse } from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { openai } from "@proviso/adapter-openai";
import { startSimulator, type SimulatorRule } from "@proviso/simulator";
import { expect, test } from "vitest";
import { findIn } from "../findings.ts";
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

async function reviewed(
  rules: readonly SimulatorRule[],
  api: "responses" | "chat" = "responses",
  files: Readonly<Record<string, string>> = messy,
): Promise<Reviewed> {
  await using simulator = await startSimulator({ rules });
  const adapter = openai({ model: "gpt-test", api, apiKey: "k", baseURL: simulator.baseURL });
  const session = createSession();
  const response = await adapter.evaluate(review.bind({ request: "Review it." }), {
    session,
    resources: [provide(Filesystem, memoryFilesystem(files))],
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

const long = `${"const x = 1;\n".repeat(1_499)}// TODO: late\n`;
const wide = `${`// ${"w".repeat(500)}\n`.repeat(99)}// FIXME: wide\n`;

test("DEMO-12 a large file is read page by page, by lines and by characters, and its lines keep their numbers", async () => {
  const { response } = await reviewed([simulatedReviewer], "responses", { "long.ts": long, "wide.ts": wide });
  const { summary, issues } = response.output;
  expect(summary).toMatch(/^Read 2 of 2 files \(1600 lines\)/);
  expect(issues).toContainEqual({ path: "long.ts", line: 1_500, severity: "medium", message: "TODO is still open" });
  expect(issues).toContainEqual({ path: "wide.ts", line: 100, severity: "medium", message: "FIXME is still open" });
  expect(response.toolResults.filter(({ name }) => name === "read_file")).toHaveLength(4);
});

test("DEMO-12 a file that is not text is reported as such, and not counted as read", async () => {
  const files = { "blob.ts": "\0 TODO", "a.ts": "const a = 1;\n" };
  const { response } = await reviewed([simulatedReviewer], "responses", files);
  expect(response.output).toMatchObject({ issues: [] });
  expect(response.output.summary).toMatch(/^Read 1 of 2 files \(1 line\)/);
});

test("DEMO-12 a folder of large files is read as far as the default budget reaches", async () => {
  const files = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}.ts`, wide.repeat(2)]));
  const { response } = await reviewed([simulatedReviewer], "responses", files);
  expect(response.output.summary).toMatch(/^Read \d+ of 60 files/);
  expect(response.usage.totalTokens).toBeLessThan(500_000);
});

test("DEMO-12 what is installed or built is not listed", async () => {
  const files = { "node_modules/x/x.ts": "", "dist/a.js": "", "logo.png": "", "src/a.ts": "" };
  const { requests } = await reviewed([simulatedReviewer], "responses", files);
  expect(JSON.stringify(requests[1]?.body)).toContain(
    JSON.stringify(JSON.stringify({ files: ["src/a.ts"], notShown: 0 })),
  );
});

test.each([
  ["export let a: any;", true],
  ["const a = b as any;", true],
  ["function f(a: any[]): any {", true],
  ["--port: any free one", false],
  ["as any reader sees", false],
])("DEMO-1 %j is found to use any: %s", (line, found) => {
  expect(findIn("a.ts", line, 1).some(({ severity }) => severity === "high")).toBe(found);
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
}, 300_000);

test("DEMO-8 a deadline of 200 ms against a slow simulator ends the evaluation in under 300 ms", async () => {
  await using simulator = await startSimulator({ rules: [simulatedReviewer], latencyMs: 600_000 });
  const adapter = openai({ model: "gpt-test", api: "responses", apiKey: "k", baseURL: simulator.baseURL });
  const failure = adapter.evaluate(review.bind({ request: "Review it." }), {
    deadline: deadlineIn(200),
    resources: [provide(Filesystem, memoryFilesystem(messy))],
  });
  // A timer of the same loop comes as late as the deadline's own where others keep the machine busy.
  const late = systemClock.sleep(300).then(() => "late");
  await expect(Promise.race([failure, late])).rejects.toMatchObject({ code: "deadline", phase: "request" });
});

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
