import { definePrompt, defineTool, type Prompt, type Tool } from "@proviso/core";
import { z } from "zod";
import type { Random } from "./random.ts";
import { slices } from "./slices.ts";
import type { World } from "./world.ts";
import { randomTools } from "./tools.ts";
import { eagerBinding } from "./vault.ts";

export interface Prompts {
  readonly outer: Prompt;
  readonly hasOutput: boolean;
}

const outputs = {
  text: undefined,
  object: z.object({ n: z.number(), tags: z.array(z.string()) }),
  list: z.array(z.string()),
  number: z.number(),
} as const;
const nothing = z.object({});

/** A prompt of random sections, and one for the evaluations inside its calls. */
export function randomPrompts(world: World): Prompts {
  const { random, shape, policy } = world;
  const tools: readonly Tool[] = randomTools(
    world,
    () => inner,
    () => reading,
  );
  const [write, , look, peek, nest] = tools;
  const policies = random.chance(0.5) ? [policy] : [];
  const inner: Prompt = definePrompt({
    ns: "sim",
    key: "inner",
    slices,
    sections: [{ key: "work", text: "Work.", tools: [write, look, peek, nest].filter((tool) => tool !== undefined) }],
    policies: random.chance(0.3) ? [policy] : [],
  }).bind() as Prompt;
  const reading: Prompt = definePrompt({
    ns: "sim",
    key: "reading",
    slices,
    sections: [{ key: "read", text: "Read.", tools: [look, peek].filter((tool) => tool !== undefined) }],
  }).bind() as Prompt;
  const output = random.chance(0.8) ? outputs[shape.output] : undefined;
  const outer = definePrompt({
    ns: "sim",
    key: "outer",
    slices,
    ...(output === undefined ? {} : { output }),
    sections: randomSections(world, tools),
    policies,
    feedback: random.chance(0.25) ? [randomFeedback(random)] : [],
    ...(random.chance(0.15)
      ? { completion: { name: "enough", check: () => (random.chance(0.3) ? "More." : undefined) } }
      : {}),
  }).bind() as Prompt;
  return { outer, hasOutput: output !== undefined };
}

function randomSections(world: World, tools: readonly Tool[]) {
  const { random } = world;
  const ghost = defineTool({ name: "ghost", description: "Not there.", input: nothing, execute: () => "boo" });
  const at = random.int(tools.length);
  const work = { key: "work", title: "Work", text: "Work.", tools: tools.slice(0, at) };
  const rest = { key: "rest", title: "Rest", text: "Rest.", tools: tools.slice(at) };
  const gone = { key: "gone", text: "Gone.", enabled: () => false, tools: [ghost] };
  const secret = defineTool({ name: "secret", description: "Opened.", input: nothing, execute: () => "opened" });
  const more = {
    key: "more",
    title: "More",
    text: "All of it.",
    summary: "There is more.",
    visibility: "summary" as const,
    tools: random.chance(0.7) ? [secret] : [],
    resources: random.chance(0.5) ? [eagerBinding(world)] : [],
  };
  const ask = { key: "ask", text: "Begin.", role: "user" as const };
  return [
    ...(random.chance(0.5) ? [{ ...work, children: [rest] }] : [work, rest]),
    ...(random.chance(0.3) ? [gone] : []),
    ...(random.chance(0.4) ? [more] : []),
    ...(random.chance(0.8) ? [ask] : []),
  ];
}

function randomFeedback(random: Random) {
  return {
    name: "nudge",
    every: random.pick([{ calls: 1 }, { calls: 3 }, { ms: 900 }]),
    provide(): string | undefined {
      if (random.chance(0.1)) throw new Error("no feedback");
      return random.chance(0.8) ? "Go on." : undefined;
    },
  };
}
