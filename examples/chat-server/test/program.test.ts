import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { answerIn, folder, userAt } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

const program = new URL("../main.ts", import.meta.url).pathname;

async function run(cwd: string, args: readonly string[]) {
  const child = spawn(process.execPath, [...fromSources, program, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] },
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const output = { stdout: "", stderr: "" };
  child.stdout.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  return { child, output, ended: once(child, "close").then(([code]) => ({ code: code as number | null, ...output })) };
}

test.each(["SIGINT", "SIGTERM"] as const)(
  "CHT-7 CHT-4 it serves until a %s, and goes on when it is started again",
  async (signal) => {
    const cwd = await folder();
    let cookie: string | undefined;
    for (const [said, answer] of [
      ["I like rain.", "Good to know: The user likes rain. I will keep it in mind."],
      ["What do you know?", "I know this about you: The user likes rain."],
    ] as const) {
      const { child, output, ended } = await run(cwd, ["--port", "0"]);
      await expect.poll(() => output.stdout, { timeout: 120_000 }).toContain("Open http");
      expect(output.stdout).toMatch(
        /^No OPENAI_API_KEY: a simulation answers\. Conversations are in conversations\.db\. Open http:\/\/127\.0\.0\.1:\d+\n$/,
      );
      const url = /http:\S+/.exec(output.stdout)?.[0] ?? "";
      const user = await userAt(url, cookie);
      ({ cookie } = user);
      expect(answerIn(await user.turn("one", said))).toBe(answer);
      child.kill(signal);
      expect(await ended).toMatchObject({ code: 0, stderr: "" });
    }
  },
);

test("CHT-7 what it cannot begin with is one line and exit 1", async () => {
  const cwd = await folder();
  await writeFile(join(cwd, "notes.txt"), "Not a database.");
  const taken = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void taken.close());
  await once(taken, "listening");
  const { port } = taken.address() as AddressInfo;
  for (const [args, says] of [
    [["--prot", "1"], "Unknown option '--prot'"],
    [["--port", "many"], "--port takes a number"],
    [["--port", "70000"], "65536"],
    [["--port", String(port)], "EADDRINUSE"],
    [["--file", "notes.txt"], "not a database"],
  ] as const) {
    const { code, stdout, stderr } = await (await run(cwd, args)).ended;
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(/^chat-server: [^\n]+\n$/);
    expect(stderr).toContain(says);
  }
});

test("CHT-6 the picture of the README is there, and is one of the page's size", async () => {
  const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
  const [, name = ""] = /!\[.*\]\((.+\.png)\)/.exec(readme) ?? [];
  const bytes = await readFile(new URL(`../${name}`, import.meta.url));
  // The header of a PNG has its width and height.
  expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([1_100, 620]);
});
