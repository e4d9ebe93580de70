import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { inProcess } from "./support.ts";

const cli = new URL("../src/cli.ts", import.meta.url).pathname;
const module = new URL("processes/prompts.ts", import.meta.url).pathname;
const none = new URL("processes/nothing.ts", import.meta.url).pathname;

interface Ended {
  readonly code: unknown;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command line, in a folder of its own: in this process, or where `tone` says what has changed since in one of its own. */
async function commandLine() {
  const folder = await mkdtemp(join(tmpdir(), "overrides-cli-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const runAlone = (args: readonly string[], tone?: string): Promise<Ended> => {
    const env = {
      PATH: process.env["PATH"],
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      ...(tone === undefined ? {} : { TONE: tone }),
    };
    return new Promise((ended) => {
      execFile(process.execPath, [...fromSources, cli, ...args], { cwd: folder, env }, (error, stdout, stderr) =>
        ended({ code: error === null ? 0 : error.code, stdout, stderr }),
      );
    });
  };
  const run = (args: readonly string[], tone?: string): Promise<Ended> =>
    tone === undefined ? inProcess(folder, args) : runAlone(args, tone);
  const file = join(folder, ".proviso", "overrides", "cli", "greeting", "latest.json");
  return { folder, file, run, runAlone };
}

test("OVR-6 check fails until seed has written every prompt's texts, and seed is idempotent", async () => {
  const { file, runAlone: run } = await commandLine();
  const missing = await run(["overrides", "check", module]);
  expect(missing).toMatchObject({ code: 1, stderr: "" });
  expect(missing.stdout).toContain("cli/greeting: missing .proviso/overrides/cli/greeting/latest.json");
  expect(missing.stdout).toContain("cli/fixed: missing");

  const seeded = await run(["overrides", "seed", module]);
  expect(seeded).toMatchObject({ code: 0, stderr: "" });
  expect(seeded.stdout).toContain("cli/greeting: wrote .proviso/overrides/cli/greeting/latest.json");
  const text = await readFile(file, "utf8");
  expect(JSON.parse(text)).toMatchObject({ sections: { tone: { text: "Be brief." } } });

  expect(await run(["overrides", "check", module])).toMatchObject({ code: 0, stderr: "" });
  const again = await run(["overrides", "seed", module]);
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining("cli/greeting: kept") });
  expect(await readFile(file, "utf8")).toBe(text);
});

test("OVR-6 diff shows what an override replaces, and nothing of it can steer the terminal", async () => {
  const { file, run } = await commandLine();
  await run(["overrides", "seed", module]);
  const text = await readFile(file, "utf8");
  const edited = text
    .replace('"Be brief."', '"Be warm.\\nAnd \\u001b[31mred."')
    .replace("as it is written", "any case");
  await writeFile(file, edited);
  const { code, stdout } = await run(["overrides", "diff", module, "--prompt", "cli/greeting"]);
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toEqual([
    "cli/greeting: 2 replaced by .proviso/overrides/cli/greeting/latest.json",
    "  sections.tone.text",
    "  - Be brief.",
    "  + Be warm.",
    "  + And \\u001b[31mred.",
    "  tools.look_up.params.name",
    "  - as it is written",
    "  + any case",
  ]);
});

test("OVR-6 a prompt that has changed since is stale: check and diff exit 1, list shows it", async () => {
  const { run } = await commandLine();
  await run(["overrides", "seed", module]);
  for (const command of ["check", "diff", "list"]) {
    const { code, stdout } = await run(["overrides", command, module], "Be loud.");
    expect({ command, code }).toEqual({ command, code: command === "list" ? 0 : 1 });
    expect(stdout).toContain("cli/greeting: stale .proviso/overrides/cli/greeting/latest.json: tone");
    expect(stdout).toContain("cli/fixed: as it is");
  }
});

test("OVR-8 accept lets edited texts hold for the changed prompt, and writes the others anew", async () => {
  const { file, run } = await commandLine();
  await run(["overrides", "seed", module]);
  // Nobody edited the tone: the changed prompt's own counts.
  expect(await run(["overrides", "accept", module], "Be loud.")).toEqual({
    code: 0,
    stdout:
      "cli/fixed: as it is, .proviso/overrides/cli/fixed/latest.json\n" +
      "cli/greeting: accepted tone; as it is, .proviso/overrides/cli/greeting/latest.json\n",
    stderr: "",
  });
  expect(await readFile(file, "utf8")).toContain('"text": "Be loud."');
  expect(await run(["overrides", "check", module], "Be loud.")).toMatchObject({ code: 0 });

  // Somebody edited it: the edited text stays, and what it replaces is shown.
  await writeFile(file, (await readFile(file, "utf8")).replace('"Be loud."', '"Be warm."'));
  expect(await run(["overrides", "check", module], "Be quick.")).toMatchObject({ code: 1 });
  const { code, stdout } = await run(["overrides", "accept", module, "--prompt", "cli/greeting"], "Be quick.");
  expect(code).toBe(0);
  expect(stdout.trimEnd().split("\n")).toEqual([
    "cli/greeting: accepted tone; 1 replaced by .proviso/overrides/cli/greeting/latest.json",
    "  sections.tone.text",
    "  - Be quick.",
    "  + Be warm.",
  ]);
  expect(await run(["overrides", "check", module], "Be quick.")).toMatchObject({ code: 0 });
});

test("OVR-8 accept drops what the prompt has no more, and leaves a file alone that would not fit", async () => {
  const { file, run } = await commandLine();
  const missing = await run(["overrides", "accept", module, "--prompt", "cli/greeting"]);
  expect(missing).toMatchObject({ code: 1, stdout: expect.stringContaining("cli/greeting: missing") });
  await run(["overrides", "seed", module]);
  const seeded = await readFile(file, "utf8");

  await writeFile(file, seeded.replace('"look_up": {', '"look_down": {'));
  const dropped = await run(["overrides", "accept", module, "--prompt", "cli/greeting"]);
  expect(dropped).toMatchObject({ code: 0, stdout: expect.stringContaining("accepted look_down; as it is") });
  expect(await readFile(file, "utf8")).not.toContain("look_");

  const wrong = seeded.replace('"Be brief."', '"Be brief, {{nobody}}."');
  await writeFile(file, wrong);
  const refused = await run(["overrides", "accept", module, "--prompt", "cli/greeting"], "Be loud.");
  expect(refused).toMatchObject({ code: 1, stdout: expect.stringContaining("names unknown params: nobody") });
  expect(await readFile(file, "utf8")).toBe(wrong);
});

test("OVR-6 a damaged file is reported with its name, exits 1 and is left alone", async () => {
  const { file, run } = await commandLine();
  await run(["overrides", "seed", module]);
  await writeFile(file, "{");
  for (const command of ["check", "diff", "seed"]) {
    const { code, stdout } = await run(["overrides", command, module]);
    expect({ command, code }).toEqual({ command, code: 1 });
    expect(stdout).toContain(`${file} is damaged`);
  }
  expect(await readFile(file, "utf8")).toBe("{");
});

test("OVR-6 the folder and the tag are chosen by flags", async () => {
  const { folder, run } = await commandLine();
  const flags = ["--folder", join(folder, "mine"), "--tag", "v2", "--prompt", "cli/fixed"];
  expect(await run(["overrides", "seed", module, ...flags])).toMatchObject({ code: 0 });
  expect(await readFile(join(folder, "mine", "cli", "fixed", "v2.json"), "utf8")).toContain('"tag": "v2"');
  expect(await run(["overrides", "check", module, ...flags])).toMatchObject({ code: 0 });
});

test("OVR-6 it ends though the module left something open, and says all of it", async () => {
  const { runAlone: run } = await commandLine();
  const leftOpen = new URL("processes/left-open.ts", import.meta.url).pathname;
  expect(await run(["overrides", "list", leftOpen])).toMatchObject({
    code: 0,
    stdout: "cli/left-open: missing .proviso/overrides/cli/left-open/latest.json\n",
  });
});

test("OVR-6 a folder that cannot be written is one line and exit 1", async () => {
  const { runAlone: run } = await commandLine();
  const { code, stdout, stderr } = await run(["overrides", "seed", module, "--folder", "/dev/null/x"]);
  expect(code).toBe(1);
  expect(`${stdout}${stderr}`).toContain("/dev/null/x");
  expect(stderr).not.toContain("    at ");
});

test("OVR-7 wrong usage is one line and exit 2", async () => {
  const { run, runAlone } = await commandLine();
  const wrong: readonly (readonly [readonly string[], string])[] = [
    [[], "proviso --help"],
    [["nope"], "there is no nope"],
    [["overrides", "nope", module], "not nope"],
    [["overrides", "check"], "needs the module"],
    [["overrides", "check", module, module], "one module at a time"],
    [["overrides", "check", module, "--nope"], "--nope"],
    [["overrides", "check", "/no/such.ts"], "there is no module /no/such.ts"],
    [["overrides", "check", none], "exports no prompt"],
    [["overrides", "check", module, "--prompt", "a/b"], "exports no prompt a/b"],
    [["overrides", "seed", module, "--tag", "../up"], "must match"],
  ];
  const ended = await Promise.all(
    wrong.map(async ([args, says], at) => ({ ...(await (at === 0 ? runAlone : run)(args)), says })),
  );
  for (const { code, stderr, says } of ended) {
    expect({ says, code }).toEqual({ says, code: 2 });
    expect(stderr).toMatch(/^proviso: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
  const { code, stdout } = await run(["overrides", "--help"]);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining("Exit codes: 0 fine; 1") });
});

test("OVR-7 a module that ends the process, or never ends loading, is not fine", async () => {
  const { folder, runAlone: run } = await commandLine();
  for (const [name, source] of [
    ["ends.mjs", "process.exit(0);"],
    ["waits.mjs", "await new Promise(() => {});"],
  ] as const) {
    await writeFile(join(folder, name), source);
    const { code, stderr } = await run(["overrides", "check", name]);
    expect(code).toBe(2);
    expect(stderr).toContain(
      "proviso: the process ended before the command was done: a module ended it, or waits for nothing",
    );
  }
});

test("OVR-7 a module in a language that this Node does not run is reported, with what to give instead", async () => {
  const { folder, runAlone: run } = await commandLine();
  await writeFile(join(folder, "prompts.tsx"), "export {};");
  const { code, stderr } = await run(["overrides", "check", "prompts.tsx"]);
  expect(code).toBe(2);
  expect(stderr).toMatch(/^proviso: [^\n]*prompts\.tsx could not be loaded: [^\n]*\n$/);
  expect(stderr).toContain("give the JavaScript that it is compiled to; TypeScript files run on Node 22.18 or newer");
});

test("OVR-6 an export that throws when it is looked at is no prompt, and the others are", async () => {
  const { folder, run } = await commandLine();
  const own = join(folder, "own.ts");
  const lazy = "export const lazy = { get template() { throw new Error('not yet'); } };";
  await writeFile(own, `export * from ${JSON.stringify(module)};\n${lazy}\n`);
  expect(await run(["overrides", "list", own])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("cli/greeting: missing"),
    stderr: "",
  });
});
