import { folderStore, storeToRead } from "@proviso/journal/internal";
import { folderJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { definePrompt, JournalError } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { appendFile, chmod, readdir, readFile, stat, symlink, truncate, writeFile } from "node:fs/promises";
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
  const unwritten = `${whole.split("\n")[0]?.replace(/"body":"..../u, `"body":"${"\0".repeat(4)}`)}\n`;
  for (const torn of ['{"first":', unwritten]) {
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

test("JRN-9 JST-5 a whole last line whose text was changed is damage: it is not passed over, and not cut off", async () => {
  const path = await folder();
  const file = await recorded(path);
  const whole = await readFile(file, "utf8");
  const lines = whole.trimEnd().split("\n");
  const changed = `${[...lines.slice(0, -1), lines.at(-1)?.replace("Four", "Five")].join("\n")}\n`;
  expect(changed).not.toBe(whole);
  await writeFile(file, changed);
  const journal = folderJournal(path);
  const damaged = { code: "journal", reason: "damaged", run: "a/sum" };
  await expect(journal.describe("a/sum")).rejects.toMatchObject(damaged);
  const model = scriptedModel([{ text: "Six." }]);
  const again = modelAdapter(model).evaluate(ask, { run: journal.run("a/sum") });
  await expect(again).rejects.toMatchObject({ cause: damaged });
  expect([model.callCount, await readFile(file, "utf8")]).toEqual([0, changed]);
});

test.each([
  ["to itself", "loop.jsonl"],
  ["to nothing", "nothing"],
  ["to a name that is too long", "x".repeat(3_000)],
])("JRN-9 a link that leads %s is passed over, and what is beside it is listed", async (_, target) => {
  const path = await folder();
  await recorded(path);
  await symlink(target, join(path, "loop.jsonl"));
  const journal = folderJournal(path);
  expect((await listed(journal.list())).map(({ id }) => id)).toEqual(["a/sum"]);
  expect(await journal.describe("loop")).toBeUndefined();
  expect(() => storeToRead(join(path, "loop.jsonl"))).toThrow(JournalError);
});

test("JST-4 JRN-9 runs whose ids are dots have files in the folder, as others have", async () => {
  const path = join(await folder(), "runs");
  const store = folderStore(path);
  const ids = [".", "..", "../up", "%2E", ".copy.part"];
  for (const run of ids) await store.append([frame({ run, first: 0 })]);
  expect((await readdir(join(path, ".."))).length).toBe(1);
  expect(await readdir(path)).toHaveLength(ids.length);
  expect((await listed(store.list())).map(({ run }) => run).toSorted()).toEqual(ids.toSorted());
  await store.remove([".", ".."]);
  expect(await readdir(path)).toHaveLength(ids.length - 2);
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

test("JRN-9 a file that this user may not read hides no other run, and a folder without access is no empty one", async (context) => {
  if (process.getuid?.() === 0) return context.skip("root may read everything");
  const path = join(await folder(), "runs");
  const file = await recorded(path);
  await recorded(path, "b");
  await chmod(file, 0);
  const journal = folderJournal(path);
  expect((await listed(journal.list())).map(({ id }) => id)).toEqual(["b"]);
  await expect(journal.describe("a/sum")).rejects.toMatchObject({ code: "journal", reason: "failed" });
  expect(await journal.prune({ keep: 0 })).toBe(1);
  await chmod(path, 0);
  await expect(journal.describe("b")).rejects.toMatchObject({ code: "journal", reason: "failed" });
  await chmod(path, 0o700);
});
