import {
  faultApplies,
  faultNames,
  faults,
  startSimulator,
  type FaultName,
  type SimulatorOptions,
} from "@proviso/simulator";
import { expect, test, vi } from "vitest";
import { readOptions } from "../src/command.ts";
import { responses } from "./support.ts";

interface Seen {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** What comes back until the signal fires; "hang" when nothing does, "reset" when the connection breaks. */
async function ask(
  baseURL: string,
  api: "responses" | "chat",
  stream: boolean,
  signal = AbortSignal.timeout(20_000),
): Promise<Seen | "hang" | "reset"> {
  const path = api === "responses" ? "responses" : "chat/completions";
  const messages = [{ role: "user", content: "Hi" }];
  try {
    const response = await fetch(`${baseURL}/${path}`, {
      method: "POST",
      headers: { authorization: "Bearer key" },
      body: JSON.stringify({
        model: "m",
        ...(api === "responses"
          ? { input: "Hi" }
          : { messages, ...(stream ? { stream_options: { include_usage: true } } : {}) }),
        stream,
      }),
      signal,
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  } catch (error) {
    return (error as Error).name === "TimeoutError" ? "hang" : "reset";
  }
}

const step = {
  text: "A text that is long enough for more than one delta.",
  toolCalls: [{ name: "a", arguments: { x: 1 } }],
};
const hanging: ReadonlySet<string> = new Set(["hang", "hang_after_headers", "body_stalls", "stream_stalls"]);

/** Aborts a fifth of a second after the simulator has got a request. */
function soonAfterTheRequest({ requests }: Awaited<ReturnType<typeof startSimulator>>): AbortSignal {
  const controller = new AbortController();
  void expect
    .poll(() => requests.length, { timeout: 120_000 })
    .toBe(1)
    .then(() => new Promise((resolve) => setTimeout(resolve, 200)))
    .finally(() => controller.abort(new DOMException("It hangs.", "TimeoutError")));
  return controller.signal;
}

const modes = (["responses", "chat"] as const).flatMap((api) => [false, true].map((stream) => ({ api, stream })));

test.each(faultNames)("SIM-14 %s makes a difference wherever it applies", async (fault) => {
  const check = async ({ api, stream }: (typeof modes)[number]): Promise<void> => {
    await using plain = await startSimulator({ steps: [step] });
    await using faulty = await startSimulator({ steps: [{ ...step, fault }] });
    const shape = (seen: Seen | string) =>
      typeof seen === "string"
        ? seen
        : `${seen.status} ${seen.headers.get("content-type")} ${seen.text.replaceAll(/\d{10}|sim_\d+/g, "")}`;
    const signal = hanging.has(fault) ? soonAfterTheRequest(faulty) : undefined;
    const [good, bad] = await Promise.all([ask(plain.baseURL, api, stream), ask(faulty.baseURL, api, stream, signal)]);
    // What only comes in pieces is whole again here.
    if (["slow_body", "stream_split", "stream_bom"].includes(fault)) expect(shape(bad)).toBe(shape(good));
    else expect(shape(bad)).not.toBe(shape(good));
    expect(faulty.requests[0]?.fault).toBe(fault);
  };
  await Promise.all(modes.filter((mode) => faultApplies(fault, mode.api, mode.stream)).map(check));
});

test("SIM-14 a fault in place of the answer comes once: the next request gets the answer", async () => {
  for (const fault of ["status_500", "reset_in_body", "html"] as const) {
    await using simulator = await startSimulator({ steps: [{ text: "first", fault }, { text: "second" }] });
    await ask(simulator.baseURL, "chat", false);
    for (const text of ["first", "second"]) {
      expect(await ask(simulator.baseURL, "chat", false)).toMatchObject({ text: expect.stringContaining(text) });
    }
  }
});

test("SIM-14 faults by the number of the request, or on every one", async () => {
  const statuses = async (options: SimulatorOptions) => {
    await using simulator = await startSimulator({ ...options, rules: [() => ({ text: "x" })] });
    const seen = [];
    for (let i = 0; i < 3; i++) seen.push(((await ask(simulator.baseURL, "responses", false)) as Seen).status);
    return seen;
  };
  expect(await statuses({ faults: [{ fault: "status_503", at: 1 }] })).toEqual([200, 503, 200]);
  expect(await statuses({ faults: [{ fault: "status_503" }] })).toEqual([503, 503, 503]);
});

test("SIM-14 of several faults on every request, the first that means something comes", async () => {
  const everywhere = [{ fault: "stream_cut" }, { fault: "status_503" }] as const;
  await using simulator = await startSimulator({ faults: everywhere });
  expect(await ask(simulator.baseURL, "chat", false)).toMatchObject({ status: 503 });
  await ask(simulator.baseURL, "chat", true);
  expect(simulator.requests.map(({ fault }) => fault)).toEqual(["status_503", "stream_cut"]);
});

test("SIM-14 a fault that is none is refused with the list", async () => {
  const fault = "nope" as FaultName;
  await expect(startSimulator({ faults: [{ fault }] })).rejects.toThrow(/"nope".*status_400/);
  await expect(startSimulator({ steps: [{ text: "x", fault }] })).rejects.toThrow(/"nope".*status_400/);
  await using simulator = await startSimulator({ steps: [() => ({ text: "x", fault })] });
  expect(await ask(simulator.baseURL, "chat", false)).toMatchObject({
    status: 500,
    text: expect.stringContaining("status_400"),
  });
});

test("SIM-14 a fault that means nothing for the request is a 400 that says so", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "x", fault: "stream_cut" }] });
  expect(await ask(simulator.baseURL, "chat", false)).toMatchObject({
    status: 400,
    text: expect.stringContaining("simulator_fault_not_applicable"),
  });
});

test.each(["refusal", "stream_for_json"] as const)(
  "SIM-14 %s, asked for by number where the step is an HTTP answer, is a 400 and no longer passed over",
  async (fault) => {
    await using simulator = await startSimulator({ steps: [{ status: 200, body: {} }], faults: [{ fault, at: 0 }] });
    expect(await ask(simulator.baseURL, "chat", false)).toMatchObject({
      status: 400,
      text: expect.stringContaining("simulator_fault_not_applicable"),
    });
  },
);

test("SIM-14 a fault of calls on a step without any comes in a turn of its own, with the first tool", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "Done.", fault: "arguments_list" }] });
  const parameters = { type: "object", properties: { a: { type: "number" } } };
  const tools = [{ type: "function", name: "f", parameters, strict: false }];
  const first = await responses(simulator, { input: "Hi", tools });
  expect(first.body["output"]).toMatchObject([{ type: "function_call", name: "f", arguments: '[{"a":0}]' }]);
  const second = await responses(simulator, { input: "Hi", tools });
  expect(second.body["output"]).toMatchObject([{ content: [{ text: "Done." }] }]);
});

test("SIM-14 a rule's fault in place of the answer comes once each time its conversation gets there", async () => {
  await using simulator = await startSimulator({ rules: [() => ({ text: "x", fault: "status_503" })] });
  const status = async (input: string) => (await responses(simulator, { input })).status;
  const seen = [await status("a"), await status("b"), await status("a"), await status("b"), await status("a")];
  expect(seen).toEqual([503, 503, 200, 200, 503]);
});

test("SIM-15 chaos by conversation is the same in whatever order conversations come", async () => {
  const inputs = Array.from({ length: 20 }, (_, index) => `conversation ${index}`);
  const run = async (order: readonly string[], by: "request" | "conversation") => {
    await using simulator = await startSimulator({ chaos: { seed: 7, rate: 0.5, faults: ["status_503"], by } });
    const statuses = new Map<string, number[]>(inputs.map((input) => [input, []]));
    for (const input of [...order, ...order]) {
      statuses.get(input)?.push((await responses(simulator, { input })).status);
    }
    return Object.fromEntries(statuses);
  };
  const backwards = inputs.toReversed();
  const forth = await run(inputs, "conversation");
  expect(await run(backwards, "conversation")).toEqual(forth);
  expect(new Set(Object.values(forth).flat())).toEqual(new Set([200, 503]));
  expect(await run(backwards, "request")).not.toEqual(await run(inputs, "request"));
});

test("SIM-15 chaos is the same for the same seed, and another for another", async () => {
  const run = async (seed: number) => {
    const faultsOfAnswers = faultNames.filter((name) => ["answer", "status"].includes(faults[name].group));
    await using simulator = await startSimulator({ chaos: { seed, rate: 0.5, faults: faultsOfAnswers } });
    for (let i = 0; i < 30; i++) await ask(simulator.baseURL, "responses", false);
    return simulator.requests.map(({ fault }) => fault ?? "-");
  };
  const first = await run(7);
  expect(await run(7)).toEqual(first);
  expect(await run(8)).not.toEqual(first);
  expect(first.filter((fault) => fault !== "-").length).toBeGreaterThan(5);
  await expect(startSimulator({ chaos: { seed: 1, rate: 2 } })).rejects.toThrow(/rate/);
});

test("SIM-16 an empty bucket is a 429 that says when to come again, and every answer has what is left", async () => {
  let now = 0;
  const clock = { now: () => now, sleep: () => Promise.resolve() };
  await using simulator = await startSimulator({ rateLimit: { requestsPerMinute: 1_200, burst: 2 / 1_200 }, clock });
  const seen = [];
  for (let i = 0; i < 3; i++) seen.push((await ask(simulator.baseURL, "responses", false)) as Seen);
  expect(seen.map(({ status }) => status)).toEqual([200, 200, 429]);
  expect(seen[0]?.headers.get("x-ratelimit-limit-requests")).toBe("1200");
  expect(seen[1]?.headers.get("x-ratelimit-remaining-requests")).toBe("0");
  const waitMs = Number(seen[2]?.headers.get("retry-after-ms"));
  expect(waitMs).toBeGreaterThan(0);
  expect(waitMs).toBeLessThanOrEqual(50);
  now += waitMs;
  expect(await ask(simulator.baseURL, "responses", false)).toMatchObject({ status: 200 });
  await expect(startSimulator({ rateLimit: { requestsPerMinute: 0 } })).rejects.toThrow(TypeError);
});

test("SIM-16 tokens have a bucket of their own", async () => {
  await using simulator = await startSimulator({
    rateLimit: { requestsPerMinute: 1e6, tokensPerMinute: 30, burst: 1 },
  });
  expect(await ask(simulator.baseURL, "responses", false)).toMatchObject({ status: 200 });
  expect(await ask(simulator.baseURL, "responses", false)).toMatchObject({ status: 200 });
  expect(await ask(simulator.baseURL, "responses", false)).toMatchObject({
    status: 429,
    text: expect.stringMatching(/tokens per min \(TPM\): Limit 30, .*"type":"tokens"/),
  });
});

test("SIM-16 a request of more tokens than a minute has is refused for good", async () => {
  await using simulator = await startSimulator({ rateLimit: { requestsPerMinute: 1e6, tokensPerMinute: 5 } });
  const seen = (await ask(simulator.baseURL, "responses", false)) as Seen;
  expect(seen.status).toBe(429);
  expect(seen.text).toContain("Request too large");
  expect(seen.headers.has("retry-after")).toBe(false);
});

test("SIM-16 the times of the headers are written as the service writes them", async () => {
  const clock = { now: () => 0, sleep: () => Promise.resolve() };
  const resets = async (requestsPerMinute: number) => {
    await using simulator = await startSimulator({ rateLimit: { requestsPerMinute, burst: 5 }, clock });
    await ask(simulator.baseURL, "responses", false);
    return ((await ask(simulator.baseURL, "responses", false)) as Seen).headers.get("x-ratelimit-reset-requests");
  };
  expect(await resets(1_200)).toBe("100ms");
  expect(await resets(80)).toBe("1.5s");
  expect(await resets(1)).toBe("2m0s");
});

test("SIM-11 close ends promptly with hanging connections open", async () => {
  const simulator = await startSimulator({ faults: [{ fault: "hang" }] });
  const asking = ask(simulator.baseURL, "responses", false);
  await expect.poll(() => simulator.requests.length).toBe(1);
  // Otherwise the client gives the connection up in the end, which is no reset.
  await simulator.close();
  expect(await asking).toBe("reset");
});

test("SIM-12 faults, chaos and limits come from the command line too", async () => {
  expect(
    await readOptions(["--fault", "hang@2", "--fault", "html", "--chaos", "7:0.5", "--rpm", "60", "--tpm", "100"]),
  ).toMatchObject({
    faults: [{ fault: "hang", at: 2 }, { fault: "html" }],
    chaos: { seed: 7, rate: 0.5 },
    rateLimit: { requestsPerMinute: 60, tokensPerMinute: 100 },
  });
  expect(await readOptions(["--faults"])).toBe("faults");
  for (const args of [
    ["--fault", "nope"],
    ["--fault", "hang@x"],
    ["--chaos", "7"],
    ["--chaos", "7:2"],
    ["--chaos", "7:"],
    ["--chaos", ":1"],
    ["--chaos", "7:1:1"],
    ["--fault", "hang@1@2"],
    ["--rpm", "-1"],
  ]) {
    await expect(readOptions(args)).rejects.toThrow();
  }
});

test("SIM-9 what is not answered is awaited, until its caller gives up", async () => {
  await using simulator = await startSimulator({ steps: [{ text: "Hello.", fault: "hang" }, { text: "Hello." }] });
  const ask = (signal: AbortSignal) =>
    fetch(`${simulator.baseURL}/responses`, {
      method: "POST",
      headers: { authorization: "Bearer key" },
      body: JSON.stringify({ model: "m", input: "Hi" }),
      signal,
    });
  const controller = new AbortController();
  const asked = ask(controller.signal);
  await vi.waitFor(() => expect(simulator.awaited).toBe(1), { timeout: 120_000 });
  controller.abort();
  await expect(asked).rejects.toThrow("aborted");
  await vi.waitFor(() => expect(simulator.awaited).toBe(0), { timeout: 120_000 });
});
