import { defineTool, Filesystem, provide, RevokedError, type ToolContext } from "@proviso/core";
import { createSession, createSnapshot, openResources, restoreSnapshot, transaction } from "@proviso/runtime";
import { hostFilesystem } from "@proviso/node";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { evaluateCalls, promptOf, rejectionOf } from "../../../runtime/test/state/support.ts";
import { host } from "./host-support.ts";
import { fromSources } from "../../../../scripts/from-sources.ts";

function toolOf(name: string, execute: (files: Filesystem, context: ToolContext) => Promise<unknown>) {
  return defineTool({
    name,
    description: "Works on files.",
    input: z.object({}),
    timeoutMs: 10,
    execute: async (_, context) => void (await execute(context.resources.get(Filesystem), context)),
  });
}

test("TX-1 TX-2 of two calls on a host folder the failed one leaves no trace and the other all of its own", async () => {
  const { files, everything } = await host({ "a.txt": "a", "folder/b.txt": "b" });
  const good = toolOf("good", async (mine) => {
    await mine.write("a.txt", "good");
    await mine.remove("folder");
  });
  const bad = toolOf("bad", async (mine) => {
    await mine.write("a.txt", "bad");
    await mine.write("new/file.txt", "bad");
    throw new Error("no");
  });
  const resources = [provide(Filesystem, files)];
  const prompt = promptOf({ tools: [good, bad] });
  const calls = [{ name: "bad" }, { name: "good" }, { name: "bad" }];
  await evaluateCalls(prompt, calls, { resources });
  expect((await everything()).map((line) => line.split(" ")[0])).toEqual(["a.txt", "file.txt"]);
  expect((await files.read("a.txt")).text).toBe("good");
});

test.each(["kill", "exit"])(
  "FS-3 of a process that ends by %s in its second call, the first call stays and the second is undone",
  async (end) => {
    const { root, tree, open } = await host({ "a.txt": "a", "folder/b.txt": "b" });
    const script = join(import.meta.dirname, "processes/evaluation.ts");
    const child = spawn(process.execPath, [...fromSources, script, root, end], { stdio: "inherit" });
    await new Promise((resolve) => child.on("close", resolve));
    expect(await tree()).not.toHaveLength(2);
    open();
    expect((await tree()).map((line) => line.split(" ")[0])).toEqual(["a.txt", "file.txt"]);
    expect(await readFile(join(root, "a.txt"), "utf8")).toBe("first");
  },
);

test("FS-3 what an evaluation did stays when its process ends", async () => {
  const { root, tree, everything } = await host({ "a.txt": "a", "folder/b.txt": "b" });
  const script = join(import.meta.dirname, "processes/evaluation.ts");
  const child = spawn(process.execPath, [...fromSources, script, root, "well"], { stdio: "inherit" });
  await new Promise((resolve) => child.on("close", resolve));
  const after = await tree();
  hostFilesystem(root);
  // What it held to the end is cleared away.
  expect(await everything()).toEqual(after);
  expect(after.map((line) => line.split(" ")[0])).toEqual(["a.txt", "file.txt", "half.txt"]);
});

test("TX-9 a savepoint of the host folder is restored, and what a transaction did stays", async () => {
  const { files, everything } = await host({ "a.txt": "a" });
  await using resources = await openResources([provide(Filesystem, files)]);
  const scope = { session: createSession(), resources };
  const before = await everything();
  const savepoint = await createSnapshot(scope);
  await transaction(scope, async () => files.write("a.txt", "b"));
  await transaction(scope, async (rollback) => {
    await files.remove("a.txt");
    await rollback();
    await files.write("c.txt", "c");
  });
  expect((await files.list()).map(({ name }) => name)).toEqual(["a.txt", "c.txt", "file.txt"]);
  await restoreSnapshot(scope, savepoint);
  expect(await everything()).toEqual(before);
  await transaction(scope, async () => files.write("d.txt", "d"));
  expect((await files.read("d.txt")).text).toBe("d");
});

test("TX-3 a write that a timed-out call had begun is waited for and undone, and none begins after it", async () => {
  const { files, everything } = await host({ "a.txt": "a" });
  const before = await everything();
  const environment = fakeEnvironment();
  const late: unknown[] = [];
  const begun: Promise<unknown>[] = [];
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  const slow = toolOf("slow", async (mine) => {
    const large = new Uint8Array(8 * 1024 * 1024);
    for (let n = 0; n < 10; n++) begun.push(mine.write(`large-${n}.bin`, large));
    await mine.write("a.txt", "changed");
    await environment.clock.sleep(20);
    late.push(await rejectionOf(mine.write("a.txt", "late")));
    end();
  });
  const resources = [provide(Filesystem, files)];
  const evaluating = evaluateCalls(promptOf({ tools: [slow] }), [{ name: "slow" }], { resources }, environment);
  await environment.clock.advance(10);
  await evaluating;
  expect(await everything()).toEqual(before);
  await environment.clock.advance(20);
  await over;
  await Promise.allSettled(begun);
  expect(late).toEqual([expect.any(RevokedError)]);
  expect(await everything()).toEqual(before);
});
