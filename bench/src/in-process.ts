import { agentsOf, bareLoop, generateTextOf, provisoOf, provisoOverFetch, sdkByHand } from "./contenders.ts";
import { median, micros, race, row, type Row } from "./measure.ts";
import { ofTurns, scenarios } from "./scenarios.ts";

const bounds: Readonly<Record<string, string>> = {
  "one plain turn": "≤ 0.2",
  "one tool": "≤ 0.25",
  "20 tool turns and structured output": "≤ 0.15",
  "16 parallel calls": "≤ 0.25",
};

/** The same model in process for everybody. */
export async function inProcess(quick: boolean): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const scenario of scenarios) {
    const work = 1 + scenario.turns * Math.max(1, scenario.calls);
    const measured = await race(
      {
        bare: bareLoop(scenario, false),
        proviso: provisoOf(scenario),
        sdk: sdkByHand(scenario),
        ai: generateTextOf(scenario),
        agents: agentsOf(scenario),
      },
      // After half a second of it the last of our code is still being compiled, and the figures are half as large again.
      {
        times: Math.max(6, Math.floor((quick ? 300 : 1_500) / work)),
        rounds: quick ? 5 : 15,
        warmUpMs: quick ? 1_000 : 3_000,
      },
    );
    const all = Object.entries(measured).map(([name, value]) => `${name} ${micros(value)}`);
    rows.push(
      row(
        `${scenario.name}: proviso / generateText`,
        measured.proviso / measured.ai,
        all.join(" · "),
        bounds[scenario.name],
      ),
    );
  }
  return rows;
}

/** What a turn costs in a long evaluation, against a short one. */
export async function scaling(quick: boolean): Promise<readonly Row[]> {
  const makers = {
    proviso: provisoOf,
    "proviso over fetch": provisoOverFetch,
    sdk: sdkByHand,
    ai: generateTextOf,
    agents: agentsOf,
  };
  const rows: Row[] = [];
  for (const [name, make] of Object.entries(makers)) {
    const [few, many] = [10, name === "agents" && quick ? 100 : 500];
    const [short, long] = [make(ofTurns(few)), make(ofTurns(many))];
    // As many turns on either side, and the two take turns.
    const shorts = async (): Promise<void> => {
      for (let turns = 0; turns < many; turns += few) await short();
    };
    const rounds = name === "agents" ? 3 : 7;
    const cost = await race({ shorts, long }, { times: name === "agents" ? 1 : 4, rounds });
    const [before, after] = [cost.shorts / many, cost.long / many];
    const bound = name.startsWith("proviso") ? "≤ 1.1" : undefined;
    rows.push(
      row(`${name}: a turn at ${many} / at ${few}`, after / before, `${micros(before)} → ${micros(after)}`, bound),
    );
  }
  return rows;
}

/** What a long evaluation keeps alive. */
export async function memory(quick: boolean): Promise<readonly Row[]> {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return [];
  const kept = async (work: () => Promise<unknown>): Promise<number> => {
    const held: unknown[] = [];
    await collected(gc);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 200; i++) held.push(await work());
    await collected(gc);
    return (process.memoryUsage().heapUsed - before) / held.length;
  };
  const scenario = ofTurns(200);
  const samples = { bare: [] as number[], ours: [] as number[] };
  const [bareWork, ourWork] = [bareMessages(scenario.turns), provisoOf(scenario)];
  // What is compiled on the way is nobody's memory.
  for (let i = 0; i < 100; i++) await Promise.all([bareWork(), ourWork()]);
  for (let round = 0; round < (quick ? 3 : 7); round++) {
    samples.bare.push(await kept(bareWork));
    samples.ours.push(await kept(ourWork));
  }
  const [bare, ours] = [median(samples.bare), median(samples.ours)];
  const kB = (bytes: number): string => `${(bytes / 1024).toFixed(0)} kB`;
  return [row("live memory of 200 turns: proviso / bare loop", ours / bare, `${kB(ours)} · ${kB(bare)}`, "≤ 1.8")];
}

/** What waits for finalizers, timers or jobs goes with a later collection. */
export async function collected(gc: () => void): Promise<void> {
  for (let times = 0; times < 5; times++) {
    gc();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The bare loop, its history kept: what any caller that wants to go on has to keep. */
function bareMessages(turns: number): () => Promise<unknown> {
  return async () => {
    const messages: unknown[] = [];
    for (let turn = 0; turn < turns; turn++) {
      const call = {
        id: `c${turn}_0`,
        type: "function",
        function: { name: "add", arguments: '{"a":1,"b":2}'.slice(0) },
      };
      messages.push({ role: "assistant", content: null, tool_calls: [call] });
      const value = JSON.parse(call.function.arguments) as { readonly a: number; readonly b: number };
      messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify({ sum: value.a + value.b }) });
    }
    return messages;
  };
}
