import { definePrompt } from "@proviso/core";
import { bodyOf, frameSum, sqliteStore } from "@proviso/journal/internal";
import type { RunOptions } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { folder, framesOf, listed } from "./support.ts";

const ask = definePrompt({ key: "ask", text: "What is two and two?" }).bind();

const statOf = async (pid: number): Promise<string[]> => {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
};

test.skipIf(process.platform !== "linux")(
  "RSM-7 a process that ended is gone though its parent has not asked, another copy here is not known, a number may be reused, a restart ends all",
  async () => {
    const file = join(await folder(), "runs.db");
    const store = sqliteStore(file);
    const journal = sqliteJournal(file);
    onTestFinished(() => Promise.all([store.close(), journal.close()]).then(() => {}));
    const evaluate = (id: string, takeOver?: RunOptions["takeOver"]): Promise<string> =>
      modelAdapter(scriptedModel([{ text: "Four." }]))
        .evaluate(ask, { run: journal.run(id, { takeOver }) })
        .then(
          ({ text }) => text ?? "",
          (error: Error) => error.message,
        );
    await evaluate("own");
    const [machine = "", pid = "", began = ""] = (await framesOf(store, "own"))[0]?.writer.split("/") ?? [];
    expect(Number(pid)).toBe(process.pid);
    const [begun] = await listed(journal.entries("own"));
    if (begun === undefined) throw new Error("The run has no entries.");
    const summary = (await framesOf(store, "own"))[0]?.summary ?? "";
    let runs = 0;
    /** What becomes of a run that this writer left open. */
    const goneOnFrom = async (...writer: readonly string[]): Promise<string> => {
      const frame = { run: `r${runs++}`, first: 0, body: bodyOf(1, [begun]) };
      await store.append([{ ...frame, count: 1, writer: writer.join("/"), sum: frameSum(frame), summary }]);
      return evaluate(frame.run);
    };

    // A shell that becomes another program asks for the end of no child.
    const parent = spawn("sh", ["-c", "sleep 60 & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void parent.kill("SIGKILL"));
    const [told] = (await once(parent.stdout, "data")) as [Buffer];
    const child = Number(told.toString());
    const [, ...fields] = await statOf(child);
    const childBegan = fields[18] ?? "";
    expect(await goneOnFrom(machine, String(child), childBegan, "x", "y")).toContain("a living process works on it");
    expect(await evaluate(`r${runs - 1}`, true)).toContain("a living process works on it");
    expect(await evaluate(`r${runs - 1}`, "alive")).toBe("Four.");
    expect(() => journal.run("r", { takeOver: "yes" as never })).toThrow('true, false or "alive"');
    expect(await goneOnFrom(machine, String(child), "1", "x", "y")).toBe("Four.");
    process.kill(child, "SIGKILL");
    await expect.poll(async () => (await statOf(child))[0]).toBe("Z");
    expect(await goneOnFrom(machine, String(child), childBegan, "x", "y")).toBe("Four.");

    // A worker of this process has its own list of who works; a container of the same name has its own numbers.
    expect(await goneOnFrom(machine, pid, began, "another-copy", "y")).toContain("it is not known whether");
    const [name = "", boot = "", space = ""] = machine.split(".");
    expect(await goneOnFrom(`${name}.${boot}.another`, pid, began, "x", "y")).toContain("it is not known whether");
    for (const where of ["elsewhere", `elsewhere.${boot}.${space}x`, "elsewhere.other.other", `${name}..${space}`]) {
      expect(await goneOnFrom(where, "4000000", "1", "x", "y")).toContain("it is not known whether");
      expect(await evaluate(`r${runs - 1}`, true)).toBe("Four.");
    }

    // The machine was started again, after a power cut for example: what ran on it is gone, whoever has its number now.
    expect(await goneOnFrom(`${name}.earlier.${space}`, pid, began, "x", "y")).toBe("Four.");
    expect(await goneOnFrom(`${name}.earlier.another`, pid, "1", "x", "y")).toBe("Four.");
  },
);
