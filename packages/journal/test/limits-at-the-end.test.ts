import { deadlineIn, definePrompt, defineTool, provideFactory, resourceKey } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

interface Client {
  look(): string;
}
const Client = resourceKey<Client>("Client");
const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({}),
  uses: [Client],
  execute: (_, { resources }) => resources.get(Client).look(),
});
const prompt = definePrompt({ key: "looks", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();

it.each(["a reader that leaves", "an abort", "a deadline"])(
  "RSM-1 RPL-1 %s while the resources are closed, after the end, is no part of the record",
  async (what) => {
    await using journal = memoryJournal();
    const environment = fakeEnvironment();
    const { clock } = environment;
    const client = provideFactory(Client, () => ({ look: () => "seen" }), { close: () => clock.sleep(60) });
    const model = scriptedModel([{ toolCalls: [{ name: "look" }] }, { text: "Here it is." }]);
    const adapter = modelAdapter(model, environment);
    const aborting = new AbortController();
    const { response, ...events } = adapter.stream(prompt, {
      run: journal.run("r"),
      resources: [client],
      signal: aborting.signal,
      ...(what === "a deadline" && { deadline: deadlineIn(40, clock) }),
    });
    for await (const event of { [Symbol.asyncIterator]: () => events[Symbol.asyncIterator]() }) {
      if (event.type !== "prompt.executed") continue;
      // The resources are closed for 60 milliseconds of this.
      void Promise.resolve().then(() => clock.advance(100));
      if (what === "an abort") void clock.sleep(20).then(() => aborting.abort());
      if (what === "a reader that leaves") break;
    }
    expect((await response).text).toBe("Here it is.");
    for (const tools of ["recorded", "run"] as const) {
      const again = await replay(prompt, journal.replay("r", { tools }), { resources: [client] });
      expect(again.response?.text).toBe("Here it is.");
    }
    expect((await adapter.evaluate(prompt, { run: journal.run("r"), resources: [client] })).text).toBe("Here it is.");
    expect(model.callCount).toBe(2);
  },
);
