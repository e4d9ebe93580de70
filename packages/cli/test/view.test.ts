import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommandLine } from "@proviso/cli";
import { expect, test } from "vitest";
import { recorded, run, start, temporaryFolder, without } from "./support.ts";

/** The ids of the runs that the page at an address is given. */
async function runsAt(address: string): Promise<readonly string[]> {
  const { origin, hash } = new URL(address);
  const headers = { authorization: `Bearer ${hash.slice("#t=".length)}` };
  const { runs } = (await (await fetch(`${origin}/api/runs`, { headers })).json()) as {
    readonly runs: readonly { readonly runId: string }[];
  };
  return runs.map(({ runId }) => runId).toSorted();
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
