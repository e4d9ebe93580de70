// Imported first: ends the process with SIGKILL before its n-th call that changes something on disk (KILL_AT), a write
// half way through. Tells how many calls there were (KILL_AT=0).
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

const killAt = Number(process.env["KILL_AT"]);
let calls = 0;
const changing =
  "renameSync linkSync unlinkSync mkdirSync rmdirSync symlinkSync writeFileSync writeSync write fsync fsyncSync fchmodSync ftruncateSync";

for (const name of changing.split(" ")) {
  const call = fs[name];
  fs[name] = (...inputs) => {
    // Standard output is none of it.
    if (inputs[0] !== 1 && ++calls === killAt) {
      if (name === "writeSync") call(inputs[0], inputs[1], inputs[2], Math.ceil(inputs[3] / 2), inputs[4]);
      process.kill(process.pid, "SIGKILL");
    }
    return call(...inputs);
  };
  // What promisify makes of them is said by a property of theirs.
  Object.defineProperties(fs[name], Object.getOwnPropertyDescriptors(call));
}
syncBuiltinESMExports();
if (killAt === 0) process.on("exit", () => fs.writeSync(1, `calls ${calls}\n`));
