// Opens each new file at the same moment as the other threads, and says what came of it.
import { sqliteUsageStore } from "@proviso/node";
import { join } from "node:path";
import { parentPort, workerData } from "node:worker_threads";

const { gate, folder, rounds } = workerData as {
  readonly gate: Int32Array;
  readonly folder: string;
  readonly rounds: number;
};
for (let round = 1; round <= rounds; round++) {
  while (Atomics.load(gate, 0) < round) Atomics.wait(gate, 0, round - 1, 50);
  let said = "open";
  try {
    sqliteUsageStore(join(folder, `${round}.sqlite`)).close();
  } catch (error) {
    said = String(error);
  }
  parentPort?.postMessage(said);
}
