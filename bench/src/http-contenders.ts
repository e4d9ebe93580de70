import type { Work } from "./measure.ts";
import { inputSchema, instructions, question, add } from "./scenarios.ts";

/** What the parent asks of a contender: so many evaluations that are not measured, then so many that are. */
export interface Ask {
  readonly warmUp: number;
  readonly evaluations: number;
}

/** What came of it. */
export interface Measured {
  /** Evaluations a second. */
  readonly perSecond: number;
  /** CPU microseconds of an evaluation, garbage collection included. */
  readonly cpuMicros: number;
  readonly rssMB: number;
}

export function isAsk(message: unknown): message is Ask {
  return typeof (message as Partial<Ask> | undefined)?.evaluations === "number";
}

/** Each loads its own packages and nobody else's: what they weigh counts as memory. */
export const makers = {
  proviso: async (baseURL: string): Promise<Work> => {
    const { openai } = await import("@proviso/adapter-openai");
    const { evaluating } = await import("./proviso.ts");
    return evaluating(openai({ model: "m", api: "chat", apiKey: "x", baseURL }), { structured: false });
  },
  "proviso lean": async (baseURL: string): Promise<Work> => {
    const { openai } = await import("@proviso/adapter-openai");
    const { leanFetch } = await import("@proviso/adapter-openai/node");
    const { evaluating } = await import("./proviso.ts");
    const adapter = openai({ model: "m", api: "chat", apiKey: "x", baseURL, fetch: leanFetch() });
    return evaluating(adapter, { structured: false });
  },
  sdk: async (baseURL: string): Promise<Work> => {
    const { OpenAI } = await import("openai");
    const { sdkLoop } = await import("./sdk-loop.ts");
    return sdkLoop(new OpenAI({ apiKey: "x", baseURL, maxRetries: 0 }));
  },
  ai: async (baseURL: string): Promise<Work> => {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const { generateText, isStepCount, tool } = await import("ai");
    const model = createOpenAI({ apiKey: "x", baseURL }).chat("m");
    const tools = { add: tool({ description: "Adds.", inputSchema, execute: async (input) => add(input) }) };
    const stopWhen = isStepCount(5);
    return () => generateText({ model, instructions, prompt: question, tools, stopWhen, maxRetries: 0 });
  },
} as const;

export type ContenderName = keyof typeof makers;
