import { readFrames, sqliteStore } from "@proviso/journal/internal";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { folder, frame, listed } from "./support.ts";

// Processes and a disk that others use, too.
vi.setConfig({ testTimeout: 300_000 });

const program = [...fromSources, join(import.meta.dirname, "processes", "writer.ts")];

interface Writer {
  readonly child: ChildProcess;
  readonly lines: () => readonly string[];
  readonly ended: Promise<unknown>;
}

function start(...args: readonly string[]): Writer {
  const child = spawn(process.execPath, [...program, ...args], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let told = "";
  child.stdout.on("data", (text: Buffer) => (told += text.toString()));
  // A line that was torn is none.
  return { child, lines: () => told.split("\n").slice(0, -1), ended: once(child, "close") };
}

const until = (isSo: () => boolean): Promise<void> => expect.poll(isSo, { timeout: 120_000, interval: 5 }).toBe(true);

function opened(file: string) {
  const store = sqliteStore(file);
  onTestFinished(() => store.close());
  return store;
}

test("JST-1 JST-6 two processes that take a run over from each other mix nothing up", async () => {
  const file = join(await folder(), "made", "runs.sqlite");
  // Both of them make the file.
  const writers = ["left", "right"].map((name) => ({ name, ...start(file, "ada", name, "contend", "40") }));
  await Promise.all(writers.map(({ ended }) => ended));
  const frames = await listed(readFrames(opened(file), "ada"));
  for (const { name, lines } of writers) {
    const own = frames.filter(({ writer }) => writer === name).map(({ first }) => String(first));
    // What was told to be kept is there, and nothing that was refused.
    expect(lines().length).toBeGreaterThan(0);
    expect(own).toEqual(lines());
  }
  expect(frames.map(({ first }) => first)).toEqual(frames.map((_, index) => index));
});

test("JST-6 kill -9 at any moment loses nothing that was kept, and leaves no half of a frame", async () => {
  const file = join(await folder(), "runs.sqlite");
  const kills = inject("exhaustive") ? 100 : 8;
  let length = 0;
  for (let kill = 0; kill < kills; kill++) {
    const name = `writer ${kill}`;
    const { child, lines, ended } = start(file, "ada", name, "append");
    await until(() => lines().length > 0);
    await new Promise((resolve) => setTimeout(resolve, (kill * 7) % 23));
    child.kill("SIGKILL");
    await ended;
    const store = sqliteStore(file);
    const frames = await listed(readFrames(store, "ada"));
    await store.close();
    const own = frames.filter(({ writer }) => writer === name).map(({ first }) => String(first));
    expect(own.slice(0, lines().length)).toEqual(lines());
    // At most the frame under way has come through as well.
    expect(own.length - lines().length).toBeLessThanOrEqual(1);
    // It went on where the one before was killed.
    expect(own[0]).toBe(String(length));
    expect(frames).toHaveLength(length + own.length);
    length = frames.length;
  }
});

test.skipIf(process.platform === "win32")(
  "JST-1 JST-6 a process that stood still while another took over is refused when it wakes",
  async () => {
    const file = join(await folder(), "runs.sqlite");
    const { child, lines, ended } = start(file, "ada", "sleeper", "hold");
    await until(() => lines().includes("held"));
    child.kill("SIGSTOP");
    const store = opened(file);
    expect(await store.append([frame({ first: 1, writer: "other" })])).toEqual(["kept"]);
    child.kill("SIGCONT");
    child.stdin?.write("go\n");
    await ended;
    expect(lines()).toEqual(["0", "held", "fenced"]);
    const writers = (await listed(readFrames(store, "ada"))).map(({ writer }) => writer);
    expect(writers).toEqual(["sleeper", "other"]);
  },
);
