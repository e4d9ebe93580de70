// node writer.ts <file> <prompt> <count>: writes so many samples and says after each that it is written.
import { sqliteUsageStore } from "@proviso/node";
import { sampleOf } from "../../../../estimation/test/support.ts";

const [file = "", prompt = "", count = "0"] = process.argv.slice(2);
// Several writers at once: a lock is not given in turn.
const store = sqliteUsageStore(file, { busyTimeoutMs: 5_000 });
for (let turns = 1; turns <= Number(count); turns++) {
  store.record(sampleOf({ prompt, turns }));
  process.stdout.write(`${turns}\n`);
}
store.close();
