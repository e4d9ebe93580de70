import { openai } from "@proviso/adapter-openai";
import { deadlineIn, definePrompt, defineTool } from "@proviso/core";
import { startSimulator } from "@proviso/simulator";
import { z } from "zod";

/** README's program over HTTP: one tool call, a typed output, a deadline and a budget. The second run is counted. */
export async function weatherOverHttp(count: { begin(): void; end(): void }): Promise<void> {
  const input = z.object({ city: z.string() });
  const weather = defineTool({
    name: "weather",
    description: "Today's weather.",
    input,
    execute: () => "21 °C, sunny",
  });
  const packing = definePrompt({
    ns: "readme",
    key: "packing",
    params: input,
    output: z.object({ take: z.array(z.string()) }),
    sections: [{ key: "task", text: "What should I pack for {{city}}?", tools: [weather] }],
  });
  await using simulator = await startSimulator({
    rules: [
      ({ messages }) =>
        messages.at(-1)?.role === "user"
          ? { toolCalls: [{ name: "weather", arguments: { city: "Lisbon" } }] }
          : { text: JSON.stringify({ take: ["sunglasses"] }) },
    ],
  });
  const adapter = openai({
    model: "gpt-5.4",
    api: "responses",
    apiKey: "sk-any-key-0123456789",
    baseURL: simulator.baseURL,
  });
  for (const counted of [false, true]) {
    if (counted) count.begin();
    const options = { deadline: deadlineIn(10_000), budget: { maxTotalTokens: 5_000 } };
    const { output, turns } = await adapter.evaluate(packing.bind({ city: "Lisbon" }), options);
    count.end();
    if (turns !== 2 || output.take[0] !== "sunglasses") throw new Error(`Another answer: ${JSON.stringify(output)}`);
  }
}
