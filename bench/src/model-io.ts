// What files, paces and MCP servers cost: the figures that the design of issue 15 has to reach and no other group has.
import { openai } from "@proviso/adapter-openai";
import { definePrompt, defineTool } from "@proviso/core";
import { sharedPace } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { execFileSync } from "node:child_process";
import { z } from "zod";
import { simulate, type Outcome } from "../../packages/runtime/test/routing/simulated-service.ts";
import { median, race, row, type Row } from "./measure.ts";

export async function modelIo(quick: boolean): Promise<readonly Row[]> {
  return [...(await picture(quick)), ...(await paces(quick)), ...imports(quick)];
}

const turns = 20;

/** A picture of a mebibyte in the first message: every request has it again. */
async function picture(quick: boolean): Promise<readonly Row[]> {
  const bytes = new Uint8Array(1 << 20);
  for (let at = 0; at < bytes.length; at++) bytes[at] = (at * 2_654_435_761) >>> 24;
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const photo = new File([bytes], "photo.png", { type: "image/png" });
  const input = z.object({ a: z.number(), b: z.number() });
  const add = defineTool({ name: "add", description: "Adds.", input, execute: ({ a, b }) => a + b });
  const see = definePrompt({
    key: "see",
    params: z.object({ photo: z.file() }),
    sections: [{ key: "task", role: "user", text: "What is it? {{photo}}", tools: [add] }],
  });
  let asked = 0;
  let sent = 0;
  /** What a connection does with the text is the same for both, and is left out. */
  const answering = async (_: unknown, init: { readonly body?: unknown }): Promise<Response> => {
    sent += (init.body as string).length;
    const turn = asked++ % (turns + 1);
    const call = { id: `c${turn}`, type: "function", function: { name: "add", arguments: '{"a":1,"b":2}' } };
    const message =
      turn < turns
        ? { role: "assistant", content: null, tool_calls: [call] }
        : { role: "assistant", content: "A square." };
    const choices = [{ index: 0, message, finish_reason: turn < turns ? "tool_calls" : "stop" }];
    return Response.json({ id: "c", choices, usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
  };
  const adapter = openai({ model: "m", api: "chat", apiKey: "x", fetch: answering as never });
  const url = `data:image/png;base64,${Buffer.from(bytes).toString("base64")}`;
  const tools = [{ type: "function", function: { name: "add", description: "Adds.", parameters: {} } }];
  const byHand = async (): Promise<void> => {
    const content = [
      { type: "text", text: "What is it? " },
      { type: "image_url", image_url: { url } },
    ];
    const messages: object[] = [{ role: "user", content }];
    for (;;) {
      const response = await answering("", { body: JSON.stringify({ model: "m", messages, tools }) });
      const { choices } = (await response.json()) as {
        readonly choices: readonly { readonly message: { readonly tool_calls?: readonly { readonly id: string }[] } }[];
      };
      const message = choices[0]?.message ?? {};
      messages.push(message);
      const [call] = message.tool_calls ?? [];
      if (call === undefined) return;
      messages.push({ role: "tool", tool_call_id: call.id, content: "3" });
    }
  };
  const prompt = see.bind({ photo });
  const used = await race(
    { proviso: () => adapter.evaluate(prompt, { maxTurns: turns + 1 }), byHand },
    { times: quick ? 1 : 4, rounds: quick ? 3 : 9 },
  );
  const detail = `proviso ${(used.proviso / 1_000).toFixed(1)} ms · by hand ${(used.byHand / 1_000).toFixed(1)} ms`;
  const what = `${turns} turns over a picture of 1 MiB, CPU: proviso / JSON of each request`;
  if (sent === 0) throw new Error("Nothing was sent.");
  return [row(what, used.proviso / used.byHand, detail, "≤ 0.45")];
}

/** The policy of retries that evaluations have: a Retry-After is the floor, then doubling up to 8 s, 5 times and 30 s. */
const retryPolicy =
  (random: () => number) =>
  (attempt: number, retryAfterMs: number | undefined, waitedMs: number): number | undefined => {
    const floor = retryAfterMs ?? 0;
    if (attempt >= 5 || waitedMs + floor > 30_000) return undefined;
    return floor + random() * Math.min(8_000, 500 * 2 ** (attempt - 1));
  };

/** In simulated time: 50 workers, a second each. The worst of some seeds. */
async function paces(quick: boolean): Promise<readonly Row[]> {
  const seeds = quick ? [1] : [1, 2, 3, 4, 5];
  const rows: Row[] = [];
  const requests = { requests: 600, burstSeconds: 1 } as const;
  const tokens = { requests: 6_000, tokens: 60_000, states: true } as const;
  const guessed = (random: () => number, bound?: number) => ({
    real: 100,
    guessed: () => 100 * (0.6 + 0.8 * random()),
    ...(bound === undefined ? {} : { bound, usedOfBound: 50 / bound }),
  });
  type Case = Pick<Parameters<typeof simulate>[0], "limits" | "warmUpMinutes"> & {
    readonly what: string;
    readonly bound?: number;
    readonly least: number;
    readonly mostRefused: number;
  };
  const cases: readonly Case[] = [
    { what: "600 a minute, stated", limits: { ...requests, states: true }, least: 0.985, mostRefused: 0.5 },
    {
      what: "600 a minute, not stated",
      limits: { ...requests, states: false },
      warmUpMinutes: 1,
      least: 0.96,
      mostRefused: 2,
    },
    {
      what: "600 a minute, 30 % used by others",
      limits: { ...requests, states: true, others: 0.3 },
      warmUpMinutes: 1,
      least: 0.95,
      mostRefused: 3,
    },
    {
      what: "60,000 tokens a minute, guessed ± 40 %",
      limits: { ...tokens, burstSeconds: 1 },
      least: 0.97,
      mostRefused: 0.5,
    },
    {
      what: "60,000 tokens a minute, longest answers counted and not reported",
      limits: { ...tokens, burstSeconds: 60, counts: "bound" },
      bound: 500,
      least: 0.97,
      mostRefused: 0.5,
    },
  ];
  for (const { what, least, mostRefused, bound, limits, warmUpMinutes = 0 } of cases) {
    const outcomes: Outcome[] = [];
    for (const seed of seeds) {
      const random = fakeEnvironment(seed).random as () => number;
      const load = "tokens" in limits ? { tokens: guessed(random, bound) } : {};
      const of = {
        limits,
        warmUpMinutes,
        workers: 50,
        latencyMs: 1_000,
        minutes: bound === undefined ? 4 : 10,
        random,
        ...load,
      };
      outcomes.push(await simulate({ pace: (clock) => sharedPace({ clock }), ...of, retry: retryPolicy(random) }));
    }
    const useful = Math.min(...outcomes.map((outcome) => outcome.useful));
    const refused = Math.max(...outcomes.map((outcome) => outcome.refusedPer100));
    const failed = outcomes.reduce((sum, outcome) => sum + outcome.failed, 0);
    const p99Ms = Math.max(...outcomes.map((outcome) => outcome.p99Ms));
    const detail = `refused ${refused.toFixed(2)} of 100 · given up ${failed} · p99 ${(p99Ms / 1_000).toFixed(1)} s`;
    rows.push(row(`paced, ${what}: answered of what is allowed`, useful, detail, `≥ ${least}`));
    rows.push(row(`paced, ${what}: refused of 100`, refused, `the worst of ${seeds.length} seeds`, `≤ ${mostRefused}`));
  }
  return rows;
}

/** Fresh processes over the built packages: what the import of the package for MCP adds to that of the runtime. */
function imports(quick: boolean): readonly Row[] {
  const once = (ids: readonly string[]): readonly [number, number] => {
    const lines = [
      `import { registerHooks } from "node:module";`,
      `let sdk = 0;`,
      `registerHooks({ load(url, context, next) { if (url.includes("@modelcontextprotocol")) sdk++; return next(url, context); } });`,
      `const from = process.cpuUsage();`,
      ...ids.map((id) => `await import(${JSON.stringify(id)});`),
      `const { user, system } = process.cpuUsage(from);`,
      `console.log((user + system) / 1000, sdk);`,
    ];
    const printed = execFileSync(process.execPath, ["--input-type=module", "-e", lines.join("\n")], {
      cwd: import.meta.dirname,
    });
    return printed.toString().trim().split(" ").map(Number) as unknown as readonly [number, number];
  };
  const [alone, mcp]: [number[], number[]] = [[], []];
  let loaded = 0;
  const base = ["@proviso/core", "@proviso/runtime"];
  for (let round = 0; round < (quick ? 3 : 11); round++) {
    alone.push(once(base)[0]);
    const [ms, sdk] = once([...base, "@proviso/mcp", "@proviso/mcp/server"]);
    mcp.push(ms);
    loaded = Math.max(loaded, sdk);
  }
  const [without, withMcp] = [median(alone), median(mcp)];
  return [
    row("modules of the protocol's SDK that the import of @proviso/mcp loads", loaded, "client and server", "≤ 0"),
    row(
      "import of core, runtime and @proviso/mcp / without it, CPU",
      withMcp / without,
      `${without.toFixed(0)} ms → ${withMcp.toFixed(0)} ms`,
    ),
  ];
}
