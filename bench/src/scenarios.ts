import { z } from "zod";

/** What the model answers: so many turns with so many calls, then a text or a structured output. */
export interface Scenario {
  readonly name: string;
  readonly turns: number;
  readonly calls: number;
  readonly structured: boolean;
}

export const scenarios: readonly Scenario[] = [
  { name: "one plain turn", turns: 0, calls: 0, structured: false },
  { name: "one tool", turns: 1, calls: 1, structured: false },
  { name: "20 tool turns and structured output", turns: 20, calls: 1, structured: true },
  { name: "16 parallel calls", turns: 1, calls: 16, structured: false },
];

export const ofTurns = (turns: number): Scenario => ({ name: `${turns} turns`, turns, calls: 1, structured: false });

export const inputSchema = z.object({ a: z.number(), b: z.number() });
export const outputSchema = z.object({ sum: z.number() });
export const add = ({ a, b }: z.infer<typeof inputSchema>): { readonly sum: number } => ({ sum: a + b });
export const instructions = "You add numbers with the tool add.";
export const question = "Add 1 and 2, please.";
export const finalText = ({ structured }: Scenario): string => (structured ? '{"sum":3}' : "The sum is 3.");
export const argumentsText = '{"a":1,"b":2}';
export const tokens = { inputTokens: 100, outputTokens: 20, totalTokens: 120 } as const;
