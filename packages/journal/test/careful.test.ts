import { definePrompt } from "@proviso/core";
import { createJournal, memoryJournal } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { folderJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

const stopped: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const once = { throttle: { maxAttempts: 1 } };

it("RPL-2 replay takes only what journal.replay returns, and writes nothing", async () => {
  const journal = memoryJournal();
  const prompt = definePrompt({ key: "ask", params: z.object({}), text: "Hello." }).bind({});
  await modelAdapter(scriptedModel([stopped]), once)
    .evaluate(prompt, { run: journal.run("r") })
    .catch(() => {});
  const before = await listed(journal.entries("r"));
  for (const run of [journal.run("r"), journal.fork("r", { at: 0 }), { id: "r" }, undefined]) {
    await expect(replay(prompt, run as never)).rejects.toMatchObject({ code: "definition" });
  }
  await expect(replay(prompt, journal.run("r"))).rejects.toThrow('give journal.replay("r")');
  expect(await listed(journal.entries("r"))).toEqual(before);
});

it("FLT-3 a run that ends while it is cancelled has ended, and its summary is that of its record", async () => {
  const store = memoryStore();
  const model = scriptedModel([{ text: "Done." }]);
  const writing = createJournal(store);
  // Between the reading and the writing of the one that cancels, the run ends.
  let isEvaluating = false;
  const other = createJournal({
    ...store,
    async append(frames) {
      if (!isEvaluating && frames.some(({ summary }) => summary.includes('"cancelled"'))) {
        isEvaluating = true;
        await modelAdapter(model).evaluate("Hello.", { run: writing.run("r", { takeOver: true }) });
      }
      return store.append(frames);
    },
  });
  await modelAdapter(scriptedModel([stopped]), once)
    .evaluate("Hello.", { run: writing.run("r") })
    .catch(() => {});
  expect(await other.cancel("r", "late")).toBe(false);
  const [first] = await listed(writing.list());
  const described = await writing.describe("r");
  expect(first).toMatchObject({ state: "executed", steps: 1 });
  expect(described).toMatchObject({ state: "executed", steps: first?.steps, usage: first?.usage });
});

it("FLT-3 a run that a limit or a failure that may pass has ended can be cancelled, and does not go on", async () => {
  const journal = memoryJournal();
  const adapter = modelAdapter(scriptedModel([stopped, { text: "Done." }]), once);
  await adapter.evaluate("Hello.", { run: journal.run("r") }).catch(() => {});
  expect(await journal.describe("r")).toMatchObject({ state: "failed" });
  expect(await journal.cancel("r")).toBe(true);
  expect(await journal.cancel("r")).toBe(false);
  await expect(adapter.evaluate("Hello.", { run: journal.run("r") })).rejects.toThrow("was cancelled");
});

it("JRN-6 the reason of a cancellation shows no secret", async () => {
  const store = memoryStore();
  const journal = createJournal(store, { secrets: ["hunter2-secret"] });
  await modelAdapter(scriptedModel([stopped]), once)
    .evaluate("Hello.", { run: journal.run("r") })
    .catch(() => {});
  await journal.cancel("r", "hunter2-secret leaked");
  expect(JSON.stringify(await listed(store.read("r")))).not.toContain("hunter2");
});

it("JRN-9 files of others are passed over, and an id that makes no file name is refused", async () => {
  const path = await folder();
  const journal = folderJournal(path);
  const adapter = modelAdapter(scriptedModel([{ text: "Done." }, { text: "Done." }, { text: "Done." }]));
  await adapter.evaluate("Hello.", { run: journal.run("r") });
  for (const name of ["100%.jsonl", "%2f.jsonl", "a:b.jsonl", ".jsonl"]) await writeFile(join(path, name), "x\n");
  expect((await listed(journal.list())).map(({ id }) => id)).toEqual(["r"]);
  await expect(adapter.evaluate("Hello.", { run: journal.run("很".repeat(100)) })).rejects.toThrow(
    "file name of 306 bytes",
  );
  // Three bytes each, and six of ".jsonl": 255 fit.
  expect((await adapter.evaluate("Hello.", { run: journal.run("很".repeat(83)) })).text).toBe("Done.");
  await expect(adapter.evaluate("Hello.", { run: journal.run(`${"很".repeat(83)}a`) })).rejects.toThrow(
    "file name of 256 bytes",
  );
});

it("JRN-9 what another program added to a file is seen before the next append", async () => {
  const path = await folder();
  const journal = folderJournal(path, { flushMs: 0 });
  const adapter = modelAdapter(scriptedModel([stopped, { text: "Done." }]), once);
  await adapter.evaluate("Hello.", { run: journal.run("r") }).catch(() => {});
  await writeFile(join(path, "r.jsonl"), '{"first":', { flag: "a" });
  expect((await adapter.evaluate("Hello.", { run: journal.run("r") })).text).toBe("Done.");
  expect(await journal.describe("r")).toMatchObject({ state: "executed", tornBytes: 0, attempts: 2 });
});
