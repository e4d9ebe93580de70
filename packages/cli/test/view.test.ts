import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommandLine } from "@proviso/cli";
import { expect, test } from "vitest";
import { inProcess, processes, recorded, run, start, temporaryFolder, without } from "./support.ts";

/** The ids of the runs that the page at an address is given. */
async function runsAt(address: string): Promise<readonly string[]> {
  const { runs } = await given<{ readonly runs: readonly { readonly runId: string }[] }>(address, "runs");
  return runs.map(({ runId }) => runId).toSorted();
}

/** What the page at an address is given. */
async function given<T>(address: string, path: string): Promise<T> {
  const { origin, hash } = new URL(address);
  const headers = { authorization: `Bearer ${hash.slice("#t=".length)}` };
  return (await (await fetch(`${origin}/api/${path}`, { headers })).json()) as T;
}

const addressIn = (text: string): string => /http:\/\/127\.0\.0\.1:\d+\/#t=\S+/.exec(text)?.[0] ?? "";

test.each([
  ["sqlite", false],
  ["folder", false],
  ["sqlite", true],
] as const)(
  "CLI-9 view shows the runs of a %s until it is interrupted (in a terminal: %s)",
  async (kind, inTerminal) => {
    const { folder, path } = await recorded(kind);
    const before = kind === "sqlite" ? await readFile(path) : undefined;
    const args = kind === "sqlite" ? ["view"] : ["view", path, "--port", "0"];
    const view = start(folder, args, { inTerminal });
    const text = await view.wrote("#t=");
    expect(text).toMatch(/^Open http:\/\/127\.0\.0\.1:\d+\/#t=\S+\r?\n$/);
    expect(await runsAt(addressIn(text))).toEqual(["again", "first", "second"]);
    view.interrupt();
    expect(await view.ended).toMatchObject({ code: 130, stderr: "" });
    if (before !== undefined) expect((await readFile(path)).equals(before)).toBe(true);
    await expect(fetch(new URL(addressIn(text)).origin)).rejects.toThrow("fetch failed");
  },
);

test("CLI-9 CLI-2 view prints the address as one document, and ends with the signal that it is given", async () => {
  const { folder } = await recorded();
  const ending = new AbortController();
  const printed: string[] = [];
  const stdout = { write: (text: string) => printed.push(text) };
  const world = { stdout, stderr: stdout, env: {}, cwd: folder, signal: ending.signal };
  const ended = runCommandLine(["view", "--json"], world);
  while (printed.length === 0) await new Promise((next) => setTimeout(next, 5));
  const { url, port } = JSON.parse(printed.join("")) as { readonly url: string; readonly port: number };
  expect(new URL(url).port).toBe(String(port));
  expect(await runsAt(url)).toContain("first");
  ending.abort();
  expect(await ended).toBe(130);
  expect(printed).toHaveLength(1);
});

/** Runs the view until it was looked at. */
async function looked(
  folder: string,
  args: readonly string[],
  look: (address: string) => Promise<void>,
): Promise<void> {
  const ending = new AbortController();
  let printed = "";
  const stdout = { write: (text: string) => (printed += text) };
  const world = { stdout, stderr: stdout, env: {}, cwd: folder, signal: ending.signal };
  const ended = runCommandLine(["view", ...args], world);
  const until = setTimeout(() => ending.abort(), 20_000);
  while (!printed.includes("\n") && !ending.signal.aborted) await new Promise((next) => setTimeout(next, 5));
  expect(printed).toContain("#t=");
  await look(addressIn(printed)).finally(() => ending.abort());
  clearTimeout(until);
  expect(await ended).toBe(130);
}

interface Evals {
  readonly report: { readonly name: string; readonly scores: object };
  readonly attempts: readonly { readonly rowId: string; readonly runIds: readonly string[] }[];
}

test("CLI-9 view shows the evals that were kept beside the runs, and a cell opens the runs that record it", async () => {
  const { folder } = await recorded();
  const spam = join(processes, "spam.eval.ts");
  const part = ["eval", spam, "--filter", "good", "--rows", "spam-1,ham-1"];
  await inProcess(folder, [...part, "--runs", ".proviso/runs.db", "--save", "saved.jsonl"]);
  await inProcess(folder, [...part, "--store", "other.sqlite"]);
  await looked(folder, [], async (address) => {
    const [listed, ...others] = await given<{ name: string; runId: string; rows: number }[]>(address, "evals");
    expect(others).toEqual([]);
    expect(listed).toMatchObject({ name: "good", rows: 2, status: "done", variants: ["default"] });
    const { report, attempts } = await given<Evals>(address, `eval/${listed?.runId}`);
    expect(report.scores).toMatchObject({ default: { correct: { value: 1 } } });
    expect(attempts.map(({ rowId }) => rowId).toSorted()).toEqual(["ham-1", "spam-1"]);
    for (const { runIds } of attempts) {
      const run = await given<{ promptName: string }>(address, `run/${runIds[0]}`);
      expect(run.promptName).toBe("app/judge");
    }
    expect(await runsAt(address)).toHaveLength(5);
  });
  // The file of evals in place of the journal, and saved runs beside it.
  await looked(folder, ["other.sqlite", "--evals", "saved.jsonl"], async (address) => {
    const names = await given<{ name: string }[]>(address, "evals");
    expect(names.map(({ name }) => name)).toEqual(["good", "good"]);
    expect(await runsAt(address)).toHaveLength(5);
  });
  const alone = await temporaryFolder();
  await looked(alone, [join(folder, "other.sqlite")], async (address) => {
    expect(await given<unknown[]>(address, "evals")).toHaveLength(1);
    expect(await runsAt(address)).toEqual([]);
  });
  for (const file of ["nowhere.sqlite", ".proviso/runs.db", join(processes, "spam.eval.ts")]) {
    const refused = await inProcess(folder, ["view", "--evals", file]);
    expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringMatching(/^proviso: [^\n]+\n$/) });
  }
}, 300_000);

test("CLI-1 CLI-4 view without a journal, with a foreign file or wrong usage is one line and exit 2", async () => {
  const { folder } = await recorded();
  await writeFile(join(folder, "notes.txt"), "no journal");
  const taken = start(folder, ["view", "--json"]);
  const { port } = JSON.parse(await taken.wrote("}")) as { readonly port: number };
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [["view", "nowhere.db"], "There is no journal at"],
    [["view", "notes.txt"], "notes.txt"],
    [["view", "--port", "65536"], "from 0 to 65535, not 65536"],
    [["view", "--port", String(port)], `cannot listen on port ${port}`],
    [["view", "a.db", "b.db"], "one journal, not a.db b.db"],
    [["view", "--prot", "1"], "did you mean --port?"],
    [["veiw"], "did you mean view?"],
  ];
  for (const [args, says] of wrong) {
    const { code, stdout, stderr } = await run(folder, args);
    expect({ says, code, stdout }).toEqual({ says, code: 2, stdout: "" });
    expect(stderr).toMatch(/^proviso: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
});

test("CLI-1 view and runs name the command that installs what is missing, and exit 2", async () => {
  const folder = await temporaryFolder();
  for (const args of [["view"], ["runs", "list"]]) {
    expect(await run(folder, args, without("@proviso/viewer"))).toEqual({
      code: 2,
      stdout: "",
      stderr: expect.stringMatching(
        /^proviso: [^\n]*npm install --save-dev @proviso\/viewer @proviso\/journal[^\n]*\n$/,
      ),
    });
  }
  const help = await run(folder, ["view", "--help"], without("@proviso/viewer", "@proviso/journal"));
  expect(help).toMatchObject({ code: 0, stderr: "", stdout: expect.stringContaining("Example: proviso view runs.db") });
});
