import { defineTool, provideFactory, resourceKey, type Binding, type ResourceKey, type Resources } from "@proviso/core";
import { z } from "zod";
import { evaluateCalls, promptOf, type Parts } from "../state/support.ts";

export * from "../state/support.ts";

export const [a, b, c] = ["a", "b", "c"].map((name) => resourceKey<string>(name)) as [Key, Key, Key];
export type Key = ResourceKey<string>;

/** A binding that logs when it makes and closes. */
export function logged(log: string[], key: Key, options: Partial<Binding> & { needs?: readonly Key[] } = {}): Binding {
  const { needs = [], scope, eager } = options;
  const create = (resources: Resources): string => {
    for (const needed of needs) resources.get(needed);
    log.push(`made ${key.name}`);
    return key.name;
  };
  return provideFactory(key, create, { scope, eager, close: (name) => void log.push(`closed ${name}`) });
}

/** What a tool of the prompt gets to see: the value, or the message of the error. */
export async function lookIn(
  look: (resources: Resources) => unknown,
  parts: Omit<Parts, "tools"> = {},
  options: Parameters<typeof evaluateCalls>[2] = {},
): Promise<string> {
  const tool = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    execute: async (_, { resources }) => String(await look(resources)),
  });
  const { toolResults } = await evaluateCalls(promptOf({ ...parts, tools: [tool] }), [{ name: "look" }], options);
  const result = toolResults[0]?.result;
  return result?.success === true ? (result.value as string) : (result?.message ?? "");
}
