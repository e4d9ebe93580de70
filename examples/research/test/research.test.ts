import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

vi.setConfig({ testTimeout: 300_000 });

const program = new URL("../main.ts", import.meta.url).pathname;

async function run(args: readonly string[] = []) {
  const child = spawn(process.execPath, [...fromSources, program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

test("RSH-1 RSH-2 RSH-3 RSH-4 RSH-5 the program prints what its README shows, and keeps its promises on the way", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, shown = ""] = /```text\n([\s\S]*?)```/.exec(readme) ?? [];
  const { code, stdout, stderr } = await run();
  expect({ code, stdout }).toEqual({ code: 0, stdout: shown });
  expect(stderr).toBe("");
  const lines = stdout.split("\n");
  const asked = lines.filter((line) => line.startsWith("  asked "));
  // Twelve documents, each once, although a service died and the history was shortened.
  expect(new Set(asked.map((line) => line.split(":")[0])).size).toBe(12);
  expect(asked).toHaveLength(12);
  expect(lines.filter((line) => line.startsWith("  refused: "))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("fails (server_error)"))).toHaveLength(1);
  expect(lines.filter((line) => line.includes("gave way to a summary")).length).toBeGreaterThanOrEqual(2);
  // Read again for the call that was refused, and for nothing else.
  expect(stdout).toContain("(5 refused), 13 documents read, 4 with quotes that were checked.");
  expect(stdout).toContain("Sources: 1894-02.md, 1894-06.md, 1894-09.md, 1894-12.md");
  for (const because of ["water had come into the oil", "the wick had burned down", "the storm broke two panes"])
    expect(stdout).toContain(because);
});

test("RSH-2 RSH-5 another folder and another question give another answer", async () => {
  const folder = await mkdtemp(join(tmpdir(), "research-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "a.md"), "The bridge is closed on Sundays.\nThe mill is open.\n");
  await writeFile(join(folder, "b.md"), "Nothing of interest.\n");
  const closed = await run(["--question", "When is the bridge closed?", folder]);
  expect(closed.code).toBe(0);
  expect(closed.stdout).toContain("\nThe bridge is closed on Sundays.\nSources: a.md\n");
  const unknown = await run(["--question", "Who painted the ceiling?", folder]);
  expect(unknown.stdout).toContain("\nThe documents do not say.\nSources: \n");
});

test("RSH-5 a folder that is not there, and an unknown option, are one line and exit 1", async () => {
  for (const [args, says] of [
    [["/no/such/folder"], "ENOENT"],
    [["--ask", "x"], "Unknown option '--ask'"],
  ] as const) {
    const { code, stdout, stderr } = await run(args);
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^research: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
});
