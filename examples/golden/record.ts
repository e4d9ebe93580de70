// pnpm examples:record [name …]: records the runs of the examples anew, all or those that are named. Look at what changed
// in records/ before you commit it.
import { openai } from "@proviso/adapter-openai";
import { folderJournal } from "@proviso/journal/node";
import { startSimulator } from "@proviso/simulator";
import { goldens } from "./runs.ts";

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !Object.hasOwn(goldens, name));
if (unknown.length > 0) {
  console.error(`There is no example ${unknown.join(" and no ")}: there are ${Object.keys(goldens).join(", ")}.`);
  process.exit(2);
}
await using journal = folderJournal(new URL("records/", import.meta.url).pathname);
for (const [name, { rule, replays, record }] of Object.entries(goldens)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  await using simulator = await startSimulator({ rules: [rule] });
  const adapter = openai({ model: "simulated", baseURL: simulator.baseURL, apiKey: "none" });
  for (const id of Object.keys(replays)) await journal.remove(id);
  await record(adapter, journal);
  for (const id of Object.keys(replays)) console.log(`${id}: ${(await journal.describe(id))?.steps} steps`);
}
