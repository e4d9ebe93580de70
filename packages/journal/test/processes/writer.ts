// node writer.ts <file> <run> <writer> <mode>
// append: goes on with the run for ever, a frame at a time, and prints the first of each frame that was kept.
// contend <n>: takes the run over n times, appends up to three frames each time, and prints the same.
// hold: appends a frame, prints "held", and appends the next one when it reads a line; prints what became of it.
import type { Frame } from "@proviso/journal";
import { frameSum, readFrames, sqliteStore } from "@proviso/journal/internal";
import { once } from "node:events";

const [file = "", run = "", writer = "", mode = "", count = "0"] = process.argv.slice(2);
const store = sqliteStore(file, { busyTimeoutMs: 30_000 });
/** Resolves when the other side could read it: a full pipe would hold back lines that a kill then loses. */
const print = (text: unknown): Promise<void> =>
  new Promise((resolve) => process.stdout.write(`${String(text)}\n`, () => resolve()));

function frame(first: number): Frame {
  const body = `${writer} ${first} `.repeat(50);
  return { run, first, count: 1, writer, body, sum: frameSum({ run, first, body }), summary: String(first + 1) };
}

async function length(): Promise<number> {
  let end = 0;
  for await (const { first, count: entries } of readFrames(store, run)) end = first + entries;
  return end;
}

/** Appends until it has done so often enough, or is refused. */
async function append(from: number, most: number): Promise<void> {
  for (let first = from; first < from + most; first++) {
    const [came] = await store.append([frame(first)]);
    if (came !== "kept") return;
    await print(first);
  }
}

if (mode === "append") await append(await length(), Infinity);
if (mode === "contend") {
  for (let turn = 0; turn < Number(count); turn++) {
    await append(await length(), 3);
    // The other one has its turn.
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
if (mode === "hold") {
  await append(0, 1);
  await print("held");
  await once(process.stdin, "data");
  await print((await store.append([frame(1)]))[0]);
  process.stdin.destroy();
}
await store.close();
