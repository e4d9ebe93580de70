import { DefinitionError, definePrompt, type JournalRun } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { evaluateAll, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const row = definePrompt({ key: "row", params: z.object({ n: z.number() }), text: "Row {{n}}" });
const rows = [0, 1, 2, 3].map((n) => row.bind({ n }));

function countingModel() {
  const asked: string[] = [];
  const step = ({ messages }: { readonly messages: readonly { readonly text: string }[] }) => {
    const { text = "" } = messages.at(-1) ?? {};
    asked.push(text);
    return { text: `answer to ${text}` };
  };
  return { adapter: modelAdapter(scriptedModel(Array.from({ length: 20 }, () => step))), asked };
}

test.each([1, 4])(
  "BAT-3 a batch that was left goes on: answered rows are not asked again (%i at once)",
  async (concurrency) => {
    const { adapter, asked } = countingModel();
    const journal = memoryJournal();
    const batch = () =>
      evaluateAll(rows, {
        adapter,
        concurrency,
        run: ({ params }, index) => journal.run(`batch/${String(params["n"])}/${index}`),
      });
    for await (const { index } of batch()) if (index === 1) break;

    const answers: string[] = [];
    for await (const result of batch()) answers.push(result.ok ? result.response.output : String(result.error));
    expect(answers).toEqual(rows.map((_, n) => `answer to Row ${n}`));
    // Rows behind the last one that was read may have been under way.
    expect(asked.filter((text) => text === "Row 0" || text === "Row 1")).toHaveLength(2);
  },
);

test("BAT-3 a prompt without a run is not kept, and what `run` throws is the error of its prompt alone", async () => {
  const { adapter } = countingModel();
  const journal = memoryJournal();
  const run = (_: unknown, index: number): JournalRun | undefined => {
    if (index === 2) throw new DefinitionError("no id for this one");
    return index === 1 ? undefined : journal.run(`r${index}`);
  };
  const shown: string[] = [];
  for await (const result of evaluateAll(rows, { adapter, run })) {
    shown.push(result.ok ? (result.response.run?.id ?? "none") : (result.error as Error).message);
  }
  expect(shown).toEqual(["r0", "none", "no id for this one", "r3"]);
});

test("BAT-3 one run for all prompts is refused, and so is what is no function", () => {
  const { adapter } = countingModel();
  const given = (run: unknown) => () => evaluateAll(rows, { adapter, run: run as never });
  expect(given(memoryJournal().run("batch"))).toThrow(DefinitionError);
  expect(given(memoryJournal().run("batch"))).toThrow(
    "run must be a function that returns the run of a prompt, (prompt, index) => journal.run(`row ${index}`), not one run, which serves one prompt at a time.",
  );
  expect(given("batch")).toThrow("evaluateAll: run must be a function that returns the run of a prompt");
});
