import type { OpenAI } from "openai";
import type { Work } from "./measure.ts";
import { add, inputSchema, instructions, question } from "./scenarios.ts";

/** Asks, runs the calls, asks again. */
export function sdkLoop(client: OpenAI): Work {
  const parameters = inputSchema["~standard"].jsonSchema.input({ target: "draft-2020-12" });
  const tools = [{ type: "function", function: { name: "add", description: "Adds.", parameters } }] as never;
  return async () => {
    const messages: never[] = [
      { role: "system", content: instructions } as never,
      { role: "user", content: question } as never,
    ];
    for (;;) {
      const answer = await client.chat.completions.create({ model: "m", messages, tools });
      const message = answer.choices[0]?.message;
      messages.push(message as never);
      if (message?.tool_calls === undefined || message.tool_calls.length === 0) return message?.content;
      for (const call of message.tool_calls as { id: string; function: { arguments: string } }[]) {
        const value = add(inputSchema.parse(JSON.parse(call.function.arguments)));
        messages.push({ role: "tool", tool_call_id: call.id, content: JSON.stringify(value) } as never);
      }
    }
  };
}
