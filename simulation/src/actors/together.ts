import { definePrompt, defineTool, provideFactory, resourceKey, type Prompt, type Tool } from "@proviso/core";
import { modelAdapter, openResources } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";
import type { Stage } from "./stage.ts";

const nothing = z.object({});

/** What some wait for together while it is being made. */
interface Well {
  closed: boolean;
}
const wellKey = resourceKey<Well>("Well");

/** Some wait for one shared resource that is being made, and some of them give up: the others get it, open. */
export async function waitTogether(stage: Stage): Promise<void> {
  const { random, environment, book } = stage;
  const { clock } = environment;
  const wells: Well[] = [];
  const make = async (): Promise<Well> => {
    await clock.sleep(100);
    const well: Well = { closed: false };
    wells.push(well);
    return well;
  };
  const resources = await openResources([
    provideFactory(wellKey, make, { close: (made) => void (made.closed = true) }),
  ]);
  const evaluate = async (gives: "up" | "no"): Promise<void> => {
    await clock.sleep(random.int(60));
    const tool = defineTool({
      name: "draw",
      description: "Draws.",
      input: nothing,
      ...(gives === "up" ? { timeoutMs: 1 + random.int(60) } : {}),
      async execute(_, context) {
        const got = await context.resources.open(wellKey);
        await clock.sleep(random.int(80));
        book.demand(!got.closed || context.signal.aborted, "TX-4 what somebody uses is closed");
      },
    }) as unknown as Tool;
    const prompt = definePrompt({
      key: "well",
      sections: [{ key: "s", text: "Draw.", tools: [tool] }],
    }).bind() as Prompt;
    const model = scriptedModel([{ toolCalls: [{ name: "draw" }] }, { text: "done" }], { clock });
    const { toolResults } = await modelAdapter(model, environment).evaluate(prompt, { resources });
    const [first] = toolResults;
    const isRight = gives === "up" || first?.result.success === true;
    book.demand(isRight, `TX-4 who waits for what another began does not get it: ${first?.result.message}`);
  };
  await Promise.all([evaluate("up"), evaluate("up"), evaluate("no"), evaluate("no")]);
  await resources[Symbol.asyncDispose]();
  book.demand(wells.length > 0 && wells.every(({ closed }) => closed), "RES-1 what was made is not closed");
}
