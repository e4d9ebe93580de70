// node process.ts <root> <seed> [steps]: plays a scenario in a root and tells each step that is over; without steps
// the root is only opened.
import { isSnapshotable } from "@proviso/core";
import { hostFilesystem } from "@proviso/node";
import { writeSync } from "node:fs";
import { scenarioOf } from "./scenario.ts";

const [, , root = "", seed = "", steps = ""] = process.argv;
const files = hostFilesystem(root);
if (!isSnapshotable(files)) throw new Error("It is not snapshotable.");
const savepoint = await files.snapshot({ savepoint: true });
for (const [index, step] of scenarioOf(Number(seed)).steps.slice(0, Number(steps)).entries()) {
  await step(files, savepoint);
  writeSync(1, `${index + 1}\n`);
}
