import type { Prompt, PromptResponse } from "@proviso/core";
import { expect } from "vitest";
import { createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
import { apiKey, ask, type Bench, type ConformanceCase } from "../kit.ts";
import { notes, plain, toolPrompt } from "../prompts.ts";
import { runList } from "../run-list.ts";
import type { ConformanceScript } from "../script.ts";

const usage = { inputTokens: 40, outputTokens: 2, totalTokens: 42 };
const call = (id: string, text: string): object => ({ id, name: "note", arguments: { text } });

/** Evaluates with the option `journal`, then replays what was kept, over the same wire. */
async function keptAndReplayed<Output>(
  { open, way }: Bench,
  script: ConformanceScript,
  prompt: Prompt<Output>,
): Promise<void> {
  const list = runList();
  await open(
    script,
    async ({ adapter, requests }) => {
      const evaluated = async (
        options: object,
      ): Promise<readonly [PromptResponse<Output>, string, readonly string[]]> => {
        const session = createSession({ id: "conformance", slices: [notes] });
        const events = recordEvents(session);
        const response = await ask(adapter, prompt, { ...options, session }, way);
        return [response, events.map((event) => JSON.stringify(event)).join("\n"), session.get(notes)];
      };
      const [live, events, state] = await evaluated({});
      expect(list.runs.map((entries) => [entries[0]?.kind, entries.at(-1)?.kind])).toEqual([["begun", "ended"]]);
      expect(live.run).toEqual({ id: "run 0", attempt: 1, keptSteps: 0 });
      expect(JSON.stringify(list.runs).includes(apiKey), "JRN-6 the key is in the record").toBe(false);
      const sent = requests().length;
      const [again, replayed, stateAgain] = await evaluated({ run: list.replay(0) });
      expect(requests()).toHaveLength(sent);
      expect(replayed).toBe(events);
      expect(stateAgain).toEqual(state);
      const { providerPayload: _payload, run: _run, ...rest } = live;
      const { providerPayload: _none, run: _facts, ...restAgain } = again;
      expect(restAgain).toEqual(rest);
      expect(list.runs).toHaveLength(1);
    },
    { journal: list.journal },
  );
}

/** What is kept of an adapter's evaluations is the same for all. */
export const journalCases: readonly ConformanceCase[] = [
  {
    title: "JRN-13 RPL-1 with the option journal an evaluation is kept as a run, which replays without a request",
    run: (bench) => keptAndReplayed(bench, [{ text: "Hello.", usage }], plain),
  },
  {
    title: "JRN-13 RPL-1 with the option journal, with tools: calls and their state are in the record",
    run: (bench) =>
      keptAndReplayed(
        bench,
        [
          { toolCalls: [call("c1", "one"), call("c2", "bad"), call("c3", "two")], usage },
          { text: "Done.", usage },
        ] as ConformanceScript,
        toolPrompt,
      ),
  },
];
