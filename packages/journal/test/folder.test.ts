import { folderStore } from "@proviso/journal/internal";
import { folderJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { definePrompt } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { appendFile, readdir, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { folder, frame, framesOf, listed } from "./support.ts";

const ask = definePrompt({ key: "ask", params: z.object({}), text: "What is two and two?" }).bind({});

async function recorded(path: string, id = "a/sum") {
  const journal = folderJournal(path, { flushMs: 0 });
  await modelAdapter(scriptedModel([{ text: "Four." }])).evaluate(ask, { run: journal.run(id) });
  await journal.close();
  return join(path, "a%2Fsum.jsonl");
}

test("JRN-9 a run is a file of JSON Lines that its owner alone can read, and replays in another process", async () => {
  const path = join(await folder(), "runs");
  const file = await recorded(path);
  expect(await readdir(path)).toEqual(["a%2Fsum.jsonl"]);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  const journal = folderJournal(path);
  expect((await listed(journal.list())).map(({ id, state }) => [id, state])).toEqual([["a/sum", "executed"]]);
  expect((await replay(ask, journal.replay("a/sum"))).response?.text).toBe("Four.");
});

test("JRN-9 a last line that a crash tore is passed over, reported, and cut off with the next append", async () => {
  const path = await folder();
  const file = await recorded(path);
  const whole = await readFile(file, "utf8");
  const lines = whole.split("\n").length - 1;
  const journal = folderJournal(path);
  for (const torn of ['{"first":', `${whole.split("\n")[0]?.replace('"sum":', '"sum":1')}\n`]) {
    await writeFile(file, whole);
    await appendFile(file, torn);
    expect((await journal.describe("a/sum"))?.tornBytes).toBe(Buffer.byteLength(torn));
    expect((await replay(ask, journal.replay("a/sum"))).response?.text).toBe("Four.");
  }
  // The process ended before the last line was whole: the run goes on behind it.
  await writeFile(file, whole);
  await truncate(file, Buffer.byteLength(whole) - 20);
  const again = await modelAdapter(scriptedModel([{ text: "Four." }])).evaluate(ask, { run: journal.run("a/sum") });
  expect(again.text).toBe("Four.");
  expect((await journal.describe("a/sum"))?.tornBytes).toBe(0);
  expect((await readFile(file, "utf8")).split("\n").length - 1).toBeGreaterThanOrEqual(lines);
});

test("JRN-9 a damaged line before the last one is damage, and other runs can be read", async () => {
  const path = await folder();
  const file = await recorded(path);
  await recorded(path, "good");
  const whole = await readFile(file, "utf8");
  await writeFile(file, `{"first":0}\n${whole}`);
  const journal = folderJournal(path);
  await expect(journal.describe("a/sum")).rejects.toMatchObject({ code: "journal", reason: "damaged", run: "a/sum" });
  expect((await journal.describe("good"))?.state).toBe("executed");
});

test("JST-3 a journal that knows where a run ends sees that another one wrote another run of the same id there, of as many bytes", async () => {
  const path = await folder();
  const [one, two] = [folderStore(path), folderStore(path)];
  const begun = (writer: string) => [frame({ first: 0, writer }), frame({ first: 1, writer, begunBy: writer })];
  await one.append(begun("one"));
  await two.remove(["ada"]);
  await two.append(begun("two"));
  expect(await one.append([frame({ first: 2, writer: "one", begunBy: "one" })])).toEqual(["fenced"]);
  expect(await two.append([frame({ first: 2, writer: "two", begunBy: "two" })])).toEqual(["kept"]);
  expect(await framesOf(one, "ada")).toHaveLength(3);
});
