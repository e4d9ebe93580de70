import { agentsOf, bareLoop, generateTextOf, provisoOf, provisoOverSdk, sdkByHand } from "./contenders.ts";
import { micros, race, row, type Row } from "./measure.ts";
import { ofTurns, scenarios } from "./scenarios.ts";

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
      { times: Math.max(3, Math.floor((quick ? 150 : 600) / work)), rounds: quick ? 5 : 9 },
    );
    const all = Object.entries(measured).map(([name, value]) => `${name} ${micros(value)}`);
    rows.push(
      row(`${scenario.name}: proviso / generateText`, measured.proviso / measured.ai, all.join(" · "), "≤ 0.5"),
    );
  }
  return rows;
}

/** What a turn costs in a long evaluation, against a short one. */
export async function scaling(quick: boolean): Promise<readonly Row[]> {
  const makers = {
    proviso: provisoOf,
    "proviso over the SDK": provisoOverSdk,
    sdk: sdkByHand,
    ai: generateTextOf,
    agents: agentsOf,
  };
  const rows: Row[] = [];
  for (const [name, make] of Object.entries(makers)) {
    const [few, many] = [10, name === "agents" && quick ? 100 : 500];
    const perTurn = async (turns: number, times: number, rounds: number): Promise<number> =>
      (await race({ it: make(ofTurns(turns)) }, { times, rounds })).it / turns;
    const short = await perTurn(few, 40, 7);
    const long = await perTurn(many, 1, name === "agents" ? 1 : 5);
    const bound = name.startsWith("proviso") ? "≤ 1.3" : undefined;
    rows.push(row(`${name}: a turn at ${many} / at ${few}`, long / short, `${micros(short)} → ${micros(long)}`, bound));
  }
  return rows;
}

/** What a long evaluation keeps alive. */
export async function memory(): Promise<readonly Row[]> {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return [];
  const kept = async (work: () => Promise<unknown>): Promise<number> => {
    const held: unknown[] = [];
    // What is compiled on the way is nobody's memory.
    for (let i = 0; i < 100; i++) await work();
    await collected(gc);
    const before = process.memoryUsage().heapUsed;
    for (let i = 0; i < 50; i++) held.push(await work());
    await collected(gc);
    return (process.memoryUsage().heapUsed - before) / held.length;
  };
  const scenario = ofTurns(200);
  const bare = await kept(bareMessages(scenario.turns));
  const ours = await kept(provisoOf(scenario));
  const kB = (bytes: number): string => `${(bytes / 1024).toFixed(0)} kB`;
  return [row("live memory of 200 turns: proviso / bare loop", ours / bare, `${kB(ours)} · ${kB(bare)}`, "≤ 2")];
}

/** What waits for finalizers, timers or jobs goes with a later collection. */
async function collected(gc: () => void): Promise<void> {
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
