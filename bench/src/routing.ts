import { definePrompt, type ModelFailure, type ModelProvider, type ModelResponse } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fallback, hedged, paced, sharedPace } from "@proviso/runtime/routing";
import { race, row, type Row } from "./measure.ts";

const answer: ModelResponse = {
  message: { role: "assistant", text: "yes", toolCalls: [] },
  finishReason: "stop",
  usage: { inputTokens: 100, outputTokens: 10 },
};
const refusal: ModelFailure = { failure: "throttle", kind: "server_error", message: "503" };

function model(name: string, result: ModelResponse | ModelFailure) {
  const provider: ModelProvider = {
    name,
    model: "constant-1",
    capabilities: { tools: true, nativeOutput: true },
    generate: () => Promise.resolve(result),
  };
  return modelAdapter(provider);
}

const prompt = definePrompt({ key: "ask", text: "Say yes." }).bind();

/** What a request through a pace and a chain costs, in process, beside the request alone. */
export async function routing(quick: boolean): Promise<readonly Row[]> {
  const alone = model("alone", answer);
  const bare = fallback([model("a", answer), model("b", answer)]);
  const both = fallback([paced(model("c", answer)), paced(model("d", answer))]);
  // The pace limits nothing, so that what is measured is its own work.
  const pace = sharedPace({ requestsPerMinute: 1e9 });
  const fallen = fallback([paced(model("e", refusal), pace), paced(model("f", answer), pace)], { breaker: false });
  const two = hedged([model("g", answer), model("h", answer)], { afterMs: 1_000 });
  const used = await race(
    {
      alone: () => alone.evaluate(prompt),
      bare: () => bare.evaluate(prompt),
      both: () => both.evaluate(prompt),
      fallen: () => fallen.evaluate(prompt),
      two: () => two.evaluate(prompt),
    },
    { times: quick ? 200 : 2_000 },
  );
  const us = (microseconds: number): string => `${microseconds.toFixed(1)} µs`;
  const beside = (microseconds: number): string => `alone ${us(used.alone)} · so ${us(microseconds)}`;
  return [
    row("one plain turn: in a chain, each with a pace / alone", used.both / used.alone, beside(used.both), "≤ 1.1"),
    row("one plain turn: in a chain / alone", used.bare / used.alone, beside(used.bare)),
    row(
      "one plain turn: refused by the first, answered by the second, each with a pace / alone",
      used.fallen / used.alone,
      beside(used.fallen),
    ),
    row("one plain turn: hedged, answered in time / alone", used.two / used.alone, beside(used.two)),
  ];
}
