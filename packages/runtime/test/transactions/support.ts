import { defineTool, resourceKey, type Snapshotable, type Tool, type ToolContext } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

export * from "../state/support.ts";

/** A counter that is read, then written a while later: two at once lose an update. */
export class Counter implements Snapshotable<number> {
  value = 0;
  snapshot(): number {
    return this.value;
  }
  restore(snapshot: number): void {
    this.value = snapshot;
  }
}
export const CounterKey = resourceKey<Counter>("Counter");
export const OtherKey = resourceKey<Counter>("Other");

export type Environment = ReturnType<typeof fakeEnvironment>;

/** A tool without arguments. */
export function toolOf(
  name: string,
  execute: (context: ToolContext) => unknown,
  options: Partial<Pick<Tool, "readOnly" | "uses" | "timeoutMs">> = {},
): Tool {
  return defineTool({
    ...options,
    name,
    description: "Does it.",
    input: z.object({}),
    execute: (_, context) => execute(context as ToolContext),
  }) as Tool;
}

/** A model that calls these tools in one turn, then answers. */
export function calling(environment: Environment, ...names: readonly string[]) {
  const toolCalls = names.map((name) => ({ name }));
  return modelAdapter(scriptedModel([{ toolCalls }, { text: "done" }]), environment);
}

/** Adds one, slowly, and fails if told so. */
export function slowAdd(environment: Environment, options: { ms?: number; fail?: boolean; name?: string } = {}): Tool {
  const { ms = 20, fail = false, name = "add" } = options;
  return toolOf(name, async ({ resources }) => {
    const counter = resources.get(CounterKey);
    const { value } = counter;
    await environment.clock.sleep(ms);
    counter.value = value + 1;
    if (fail) throw new Error("it failed");
  });
}
