import { deadlineIn, definePrompt, defineTool } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const input = z.object({ city: z.string() });
const weather = defineTool({ name: "weather", description: "Today's weather.", input, execute: () => "21 °C, sunny" });
const packing = definePrompt({
  ns: "readme",
  key: "packing",
  params: input,
  output: z.object({ take: z.array(z.string()) }),
  sections: [{ key: "task", text: "What should I pack for {{city}}?", tools: [weather] }],
});
// With a key: openai({ model: "gpt-5.4" }) of @proviso/adapter-openai.
const model = scriptedModel([
  { toolCalls: [{ name: "weather", arguments: { city: "Lisbon" } }] },
  { output: { take: ["sunglasses", "a light jacket"] } },
]);
const options = { deadline: deadlineIn(10_000), budget: { maxTotalTokens: 5_000 } };
const { output, turns, usage } = await modelAdapter(model).evaluate(packing.bind({ city: "Lisbon" }), options);
console.log(`Take ${output.take.join(" and ")}: ${turns} turns, ${usage.totalTokens} tokens.`);
