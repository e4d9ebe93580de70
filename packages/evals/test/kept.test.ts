import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, inject, it } from "vitest";
import {
  defineEval,
  memoryEvalStore,
  runEval,
  saveRun,
  type EvalStore,
  type RunOptions,
  type Scorer,
} from "@proviso/evals";
import { readRun, sqliteEvalStore, writeRun } from "@proviso/evals/node";
import { SqliteError } from "@proviso/node";
import { fromSources } from "../../../scripts/from-sources.ts";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const folder = await mkdtemp(join(tmpdir(), "proviso-evals-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `attempts-${++files}`, "evals.sqlite");

type Answered = { readonly row: Mail; readonly output: { readonly label: string } };
const correct = ({ row, output }: Answered) => output.label === row.label;
const evalOf = (
  asked: string[],
  scorers: Record<string, Scorer<Mail, { label: string }> | typeof correct> = { correct },
) =>
  defineEval({
    name: "spam",
    data: mails(20),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: wordList(["money"], asked),
    scorers,
  });

interface Ended {
  readonly asked: readonly string[];
  readonly result: {
    readonly answered: number;
    readonly score: number;
    readonly lost: { readonly totalTokens: number };
  };
}

/** Runs `kept-run.ts` in a process of its own; `killAfter`: as many rows as it asks before it is killed. */
function keptRun(args: readonly string[], killAfter = Infinity): Promise<Ended> {
  const program = join(import.meta.dirname, "processes/kept-run.ts");
  const child = spawn(process.execPath, [...fromSources, program, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  return new Promise((resolve, reject) => {
    let text = "";
    const asked: string[] = [];
    child.stdout.on("data", (chunk: Buffer) => {
      text += chunk.toString();
      const lines = text.split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("asked")) asked.push(line);
        else resolve({ asked, result: JSON.parse(line) as Ended["result"] });
      }
      if (asked.length >= killAfter) child.kill("SIGKILL");
    });
    child.on("error", reject);
    child.on("close", () => resolve({ asked, result: { answered: 0, score: 0, lost: { totalTokens: 0 } } }));
  });
}

const rowsOf = (file: string, sql: string) => {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare(sql).all();
  database.close();
  return rows;
};

describe("attempts that are kept in a file", () => {
  it("EVL-23 EVL-24 kill -9, again and again, loses and doubles nothing", async () => {
    const file = newFile();
    const [rows, side, kills] = inject("exhaustive") ? [6_000, 50, 8] : [600, 50, 2];
    let asked = 0;
    for (let kill = 0; kill < kills; kill++) {
      // At a moment of its own each time: in the first requests, between writes, in the middle.
      const run = await keptRun([file, String(rows), String(side)], 1 + ((kill * 137) % (rows / 10)));
      asked += run.asked.length;
      // It was killed before its end.
      expect(run.result.answered).toBe(0);
    }
    const last = await keptRun([file, String(rows), String(side)]);
    asked += last.asked.length;
    const whole = await keptRun([newFile(), String(rows), String(side)]);
    expect(last.result).toMatchObject({ answered: rows, score: whole.result.score });
    expect(whole.asked).toHaveLength(rows);
    // At most what was in flight is asked again, for each of the kills.
    expect(asked).toBeGreaterThanOrEqual(rows);
    expect(asked).toBeLessThanOrEqual(rows + kills * side);
    const [{ kept } = {}] = rowsOf(file, "SELECT count(*) AS kept FROM eval_attempts");
    const [{ keys } = {}] = rowsOf(file, "SELECT count(DISTINCT row_id) AS keys FROM eval_attempts");
    expect([kept, keys]).toEqual([rows, rows]);
    expect(rowsOf(file, "SELECT * FROM eval_begun")).toEqual([]);
    expect(rowsOf(file, "PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  });

  it("EVL-24 what a killed run had begun and not finished is reported as lost, once", async () => {
    const file = newFile();
    await keptRun([file, "400", "20"], 300);
    const begun = rowsOf(file, "SELECT worst_case FROM eval_begun") as { worst_case: string }[];
    expect(begun.length).toBeGreaterThan(0);
    const expected = begun.reduce(
      (sum, row) => sum + (JSON.parse(row.worst_case) as { totalTokens: number }).totalTokens,
      0,
    );
    const { result } = await keptRun([file, "400", "20"]);
    expect(result.lost.totalTokens).toBe(expected);
    expect(expected).toBeGreaterThan(0);
    const third = await keptRun([file, "400", "20"]);
    expect(third).toMatchObject({ asked: [], result: { answered: 400, lost: { totalTokens: 0 } } });
  });

  it("EVL-23 two processes side by side keep all attempts of both, of one eval and of two", async () => {
    const file = newFile();
    const rows = inject("exhaustive") ? "500" : "200";
    const [one, other, third] = await Promise.all([
      keptRun([file, rows, "10"]),
      keptRun([file, rows, "10"]),
      keptRun([file, rows, "10", "other"]),
    ]);
    expect([one, other, third].map(({ result }) => result.answered)).toEqual([
      Number(rows),
      Number(rows),
      Number(rows),
    ]);
    // Nobody was killed: what another process has in flight is not lost.
    expect([one, other, third].map(({ result }) => result.lost.totalTokens)).toEqual([0, 0, 0]);
    const kept = rowsOf(
      file,
      "SELECT name, run, count(*) AS kept, count(DISTINCT row_id) AS keys FROM eval_attempts GROUP BY run",
    );
    for (const run of kept) expect(run["kept"]).toBe(run["keys"]);
    const again = await keptRun([file, rows, "10"]);
    expect(again).toMatchObject({ asked: [], result: { answered: Number(rows) } });
  });

  it("EVL-23 a second run over the file asks nothing, and a changed row alone is asked again", async () => {
    const file = newFile();
    const asked: string[] = [];
    using first = sqliteEvalStore(file);
    await runEval(evalOf(asked), { store: first });
    await first.close();
    using second = sqliteEvalStore(file);
    const report = await runEval(evalOf(asked), { store: second });
    expect(asked).toHaveLength(20);
    expect(report.attempts).toHaveLength(20);
    expect(report.spent.totalTokens).toBe(0);
  });

  it("EVL-26 a failure that is tried again keeps both records, and the newest counts", async () => {
    const file = newFile();
    let isDown = true;
    const of = defineEval({
      name: "spam",
      data: mails(4),
      prompt: ({ text }: Mail) => triage.bind({ text }),
      adapter: answering(() => (isDown ? new Error("down") : '{"label":"ham"}')),
      scorers: { correct },
    });
    using store = sqliteEvalStore(file);
    await runEval(of, { store });
    isDown = false;
    const report = await runEval(of, { store, resume: "retry-failed" });
    expect(report.variants["default"]?.counts).toMatchObject({ answered: 4, failed: {} });
    const again = await runEval(of, { store });
    expect(again.variants["default"]?.counts).toMatchObject({ answered: 4, failed: {} });
    expect(rowsOf(file, "SELECT record FROM eval_attempts")).toHaveLength(8);
  });

  it("EVL-23 a full file ends the run with a SqliteError, and what was kept is used again", async () => {
    const file = newFile();
    const asked: string[] = [];
    using store = sqliteEvalStore(file);
    const database = new DatabaseSync(file);
    database.exec(
      "CREATE TRIGGER full BEFORE INSERT ON eval_attempts WHEN (SELECT count(*) FROM eval_attempts) >= 5 BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    await expect(runEval(evalOf(asked), { store, concurrency: 2 })).rejects.toBeInstanceOf(SqliteError);
    // Nothing goes on behind it.
    const askedThen = asked.length;
    await new Promise((resolve) => void setTimeout(resolve, 50));
    expect(asked).toHaveLength(askedThen);
    database.exec("DROP TRIGGER full");
    database.close();
    const kept = rowsOf(file, "SELECT row_id FROM eval_attempts").length;
    expect(kept).toBeGreaterThanOrEqual(4);
    const report = await runEval(evalOf(asked), { store });
    expect(report.attempts).toHaveLength(20);
    expect(asked).toHaveLength(askedThen + 20 - kept);
  });

  it("EVL-23 what is no file of attempts is left alone, and the error names it", async () => {
    const foreign = newFile();
    using made = sqliteEvalStore(foreign);
    await made.close();
    const change = (sql: string) => {
      const database = new DatabaseSync(foreign);
      database.exec(sql);
      database.close();
    };
    change("PRAGMA user_version = 9");
    expect(() => sqliteEvalStore(foreign)).toThrow(
      `${foreign} has version 9; this is for version 1. It was left alone.`,
    );
    change("PRAGMA user_version = 1; PRAGMA application_id = 7");
    expect(() => sqliteEvalStore(foreign)).toThrow("is a database of something else");
    const text = join(folder, "text.sqlite");
    await writeFile(
      text,
      "This is no database, and it is longer than a header of one hundred bytes, so that it is read. ".repeat(9),
    );
    expect(() => sqliteEvalStore(text)).toThrow(`The file of attempts ${text} cannot be opened`);
    expect(await readFile(text, "utf8")).toContain("This is no database");
    for (const path of ["", ":memory:", "a\0b"])
      expect(() => sqliteEvalStore(path)).toThrow("takes the path of a file");
    expect((await stat(foreign)).mode & 0o777).toBe(0o600);
  });

  it("EVL-23 a kept record that is no attempt is named, and nothing is asked", async () => {
    const file = newFile();
    const store = sqliteEvalStore(file);
    await runEval(evalOf([]), { store });
    await store.close();
    for (const record of ["{}", "7", "{", '{"rowId":"m3"}']) {
      const database = new DatabaseSync(file);
      database.prepare("UPDATE eval_attempts SET record = ? WHERE row_id = 'm3'").run(record);
      database.close();
      const asked: string[] = [];
      using again = sqliteEvalStore(file);
      await expect(runEval(evalOf(asked), { store: again })).rejects.toThrow(
        `The file of attempts ${file} is damaged: what it has for repetition 1 of the row "m3" with the variant "default" is no attempt`,
      );
      expect(asked).toEqual([]);
    }
  });

  it("EVL-23 answers and scorers may have keys of any name", async () => {
    const file = newFile();
    const counts: number[] = [];
    for (let run = 0; run < 2; run++) {
      const asked: string[] = [];
      using store = sqliteEvalStore(file);
      const task = async () => (asked.push(""), { constructor: 1, prototype: { ["__proto__"]: 2 } });
      const scorers = { constructor: () => 1 };
      const adapter = wordList([]);
      const report = await runEval(defineEval({ name: "keys", data: mails(2), task, adapter, scorers }), { store });
      const path = join(folder, "keys.json");
      await writeRun(path, saveRun(report));
      expect(await readRun(path)).toEqual(saveRun(report));
      counts.push(asked.length);
    }
    expect(counts).toEqual([2, 0]);
  });

  it("EVL-23 a store that is closed refuses what comes later", async () => {
    const store = sqliteEvalStore(newFile());
    await store.close();
    store[Symbol.dispose]();
    await expect(runEval(evalOf([]), { store })).rejects.toThrow("is closed");
  });
});

const stores: readonly (readonly [string, () => EvalStore])[] = [
  ["in memory", memoryEvalStore],
  ["in a file", () => sqliteEvalStore(newFile())],
];

describe.each(stores)("scores of attempts that are kept %s", (_where, newStore) => {
  const run = async (
    store: EvalStore,
    asked: string[],
    scorers: Parameters<typeof evalOf>[1],
    options: RunOptions = {},
  ) => runEval(evalOf(asked, scorers), { store, ...options });

  it("EVL-23 two runs that use one store at the same time keep their own attempts", async () => {
    const store = newStore();
    let begun = 0;
    const both = Promise.withResolvers<void>();
    // Neither goes on before the other has opened the store.
    const of = (name: string, label: string, asked: string[]) =>
      defineEval({
        name,
        data: mails(30),
        prompt: ({ text }: Mail) => triage.bind({ text }),
        adapter: answering(async () => {
          if (++begun === 2) both.resolve();
          await both.promise;
          return JSON.stringify({ label });
        }, asked),
        scorers: { correct, [`is ${label}`]: ({ output }: Answered) => output.label === label },
      });
    const asked: string[] = [];
    const [spam, ham] = [of("all-spam", "spam", asked), of("all-ham", "ham", asked)];
    await Promise.all([spam, ham].map((each) => runEval(each, { store, concurrency: 1, pacing: "off" })));
    expect(asked).toHaveLength(60);
    const again = await Promise.all([spam, ham].map((each) => runEval(each, { store })));
    expect(asked).toHaveLength(60);
    expect(again.map(({ reused, lost }) => [reused, lost.totalTokens])).toEqual([
      [30, 0],
      [30, 0],
    ]);
    expect(again.map(({ attempts }) => [...new Set(attempts.map(({ output }) => JSON.stringify(output)))])).toEqual([
      ['{"label":"spam"}'],
      ['{"label":"ham"}'],
    ]);
    await store.close();
  });

  it("EVL-25 a scorer that is new or of another version scores what is kept, and nothing is asked", async () => {
    const [store, asked] = [newStore(), [] as string[]];
    const first = await run(store, asked, { correct });
    const scored: string[] = [];
    const short = {
      version: "1",
      score: ({ rowId, output }: { readonly rowId: string; readonly output: { readonly label: string } }) => {
        scored.push(rowId);
        return output.label.length <= 3 ? 1 : 0;
      },
    };
    const second = await run(store, asked, { correct, short });
    expect(asked).toHaveLength(20);
    expect(scored).toHaveLength(20);
    expect(second.variants["default"]?.scores["correct"]).toEqual(first.variants["default"]?.scores["correct"]);
    expect(second.variants["default"]?.scores["short"]?.value).toBeGreaterThan(0);
    expect(second.spent.totalTokens).toBe(0);
    await run(store, asked, { correct, short });
    expect(scored).toHaveLength(20);
    const third = await run(store, asked, { correct, short: { version: "2", score: () => 0 } });
    expect(third.variants["default"]?.scores["short"]?.value).toBe(0);
    expect(asked).toHaveLength(20);
    await store.close();
  });

  it.each(["session", "resources", "events"] as const)(
    "EVL-25 a scorer that reads the %s, which are not kept, has the attempt made again",
    async (what) => {
      const [store, asked] = [newStore(), [] as string[]];
      await run(store, asked, { correct });
      const report = await run(store, asked, { correct, more: { score: (attempt) => attempt[what] !== undefined } });
      expect(asked).toHaveLength(40);
      expect(report.variants["default"]?.counts.unscored).toBe(0);
      expect(report.variants["default"]?.scores["more"]?.value).toBe(1);
      await store.close();
    },
  );

  it("EVL-25 a kept failure is the worst value to a new scorer, and is made again for one that scores failures", async () => {
    const store = newStore();
    let asked = 0;
    const of = (scorers: Record<string, Scorer>) =>
      defineEval({
        name: "spam",
        data: mails(4),
        prompt: ({ text }: Mail) => triage.bind({ text }),
        adapter: answering(() => (++asked, "no JSON")),
        scorers,
      });
    const one = { score: () => 1 };
    await runEval(of({ one }), { store });
    const before = asked;
    const report = await runEval(of({ one, two: { score: () => 1 } }), { store });
    expect(asked).toBe(before);
    expect(report.variants["default"]?.scores["two"]?.value).toBe(0);
    const wanted = await runEval(of({ one, three: { score: () => 1, scoreFailure: () => 1 } }), { store });
    expect(asked).toBe(2 * before);
    expect(wanted.variants["default"]?.scores["three"]?.value).toBe(1);
    await store.close();
  });

  it("EVL-26 a score that a scorer failed to make is made again by retry-failed, and nothing is asked", async () => {
    const [store, asked] = [newStore(), [] as string[]];
    let isBroken = true;
    const shaky = {
      score: () => {
        if (isBroken) throw new Error("The instrument is broken.");
        return 1;
      },
    };
    expect((await run(store, asked, { shaky })).variants["default"]?.counts.unscored).toBe(20);
    isBroken = false;
    expect((await run(store, asked, { shaky })).variants["default"]?.counts.unscored).toBe(20);
    const report = await run(store, asked, { shaky }, { resume: "retry-failed" });
    expect(report.variants["default"]?.counts.unscored).toBe(0);
    expect(asked).toHaveLength(20);
    await store.close();
  });
});

describe("saved runs in files", () => {
  it("EVL-51 a run is written a row a line, whole, and read again", async () => {
    const run = saveRun(await runEval(evalOf([])));
    const path = join(folder, "spam.baseline.json");
    await writeRun(path, run);
    await writeRun(path, run);
    expect(await readRun(path)).toEqual(run);
    const lines = (await readFile(path, "utf8")).split("\n");
    expect(lines.filter((line) => /^ {4}\{"id":"m\d+".*\},?$/u.test(line))).toHaveLength(20);
    expect((await readdir(folder)).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    const report = await runEval(evalOf([]), { compareWith: await readRun(path) });
    expect(report.differences["default"]?.["correct"]?.value).toBe(0);
  });

  it("EVL-51 a file that is not there, damaged or newer is a DefinitionError that names it, and is left alone", async () => {
    const path = join(folder, "other.json");
    await expect(readRun(path)).rejects.toThrow(`The saved run ${path} cannot be read`);
    await writeRun(path, saveRun(await runEval(evalOf([]))));
    const whole = await readFile(path, "utf8");
    const damaged: readonly (readonly [string, string])[] = [
      [whole.slice(0, -20), "is damaged: it is not JSON"],
      [whole.replace("proviso-eval/1", "proviso-eval/2"), 'of the form proviso-eval/1: it is "proviso-eval/2"'],
      [whole.replace('"scores":{"correct":1}', '"scores":{"correct":"1"}'), "is damaged"],
      [whole.replace('"scores":{"correct":1}', '"scores":{"correct":1e999}'), "is damaged"],
      [whole.replace('"scorers":', '"scored":'), "is damaged"],
      ["[]", "of the form proviso-eval/1"],
    ];
    for (const [text, message] of damaged) {
      await writeFile(path, text);
      await expect(readRun(path)).rejects.toThrow(message);
      await expect(readRun(path)).rejects.toThrow(path);
      expect(await readFile(path, "utf8")).toBe(text);
    }
    await writeFile(path, whole.replace('"scores":{"correct":1}', '"scores":{"correct":7}'));
    const asked: string[] = [];
    await expect(runEval(evalOf(asked), { compareWith: await readRun(path) })).rejects.toThrow(
      `The saved run ${path} is damaged: the row "m`,
    );
    expect(asked).toEqual([]);
    await expect(writeRun(path, {} as never)).rejects.toThrow("writeRun was given");
  });
});
