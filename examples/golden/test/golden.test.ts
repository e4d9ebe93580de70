import { RunError } from "@proviso/core";
import { folderJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { defineSection, definePrompt } from "@proviso/core";
import { goldens, type Replayable } from "../runs.ts";

const records = new URL("../records/", import.meta.url).pathname;

function opened() {
  const copy = mkdtempSync(join(tmpdir(), "golden-"));
  cpSync(records, copy, { recursive: true });
  const journal = folderJournal(copy);
  onTestFinished(async () => {
    await journal.close();
    rmSync(copy, { recursive: true });
  });
  return journal;
}

/** Says what to do where a run differs. */
async function replayed(
  name: string,
  id: string,
  { prompt, policies = [], resources }: Replayable,
  tools: "recorded" | "run",
) {
  const options = tools === "run" ? { policies, resources: resources?.() ?? [] } : { policies };
  return replay(prompt, opened().replay(id, { tools }), options).catch((error: unknown) => {
    if (!(error instanceof RunError) || error.divergence === undefined) throw error;
    throw new Error(
      `${error.message}\nexamples/${name} does not do what it did when this run was recorded. If you meant that, record it anew and look at the difference: npx -y pnpm@12 examples:record ${name} && git diff examples/golden/records`,
      { cause: error },
    );
  });
}

const runs = Object.entries(goldens).flatMap(([name, { replays }]) =>
  Object.entries(replays).map(([id, replayable]) => ({ name, id, replayable })),
);

test.each(runs)("RSM-13 RPL-1 the recorded run $id of the example $name replays", async ({ name, id, replayable }) => {
  const { response, failure, events } = await replayed(name, id, replayable, "recorded");
  expect(failure).toBeUndefined();
  expect(response?.turns).toBeGreaterThan(0);
  expect(events.at(-1)?.type).toBe("prompt.executed");
});

test.each(runs.filter(({ replayable }) => replayable.resources !== undefined))(
  "RSM-13 RPL-3 the tools of the run $id come to what they came to",
  async ({ name, id, replayable }) => {
    const { response } = await replayed(name, id, replayable, "run");
    expect(response?.turns).toBeGreaterThan(0);
  },
);

test("RSM-13 every record belongs to an example, and every run of an example has one", async () => {
  const ids: string[] = [];
  for await (const { id, state } of opened().list()) {
    ids.push(id);
    expect([id, state]).toEqual([id, "executed"]);
  }
  expect(ids.toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
});

test("RSM-13 where a run differs, the test names the place and the command that records it anew", async () => {
  const changed = definePrompt({
    ns: "examples",
    key: "maintainer",
    sections: [defineSection({ key: "question", text: "What is it for?" })],
  });
  const failure = replayed("workspace-digest", "workspace-known", { prompt: changed }, "recorded");
  await expect(failure).rejects.toThrow(
    /The run "workspace-known" diverges at step 0: [\s\S]*npx -y pnpm@12 examples:record workspace-digest/,
  );
});
