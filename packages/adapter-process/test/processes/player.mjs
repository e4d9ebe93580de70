/**
 * A command-line model that plays a script: `node player.mjs <folder>`. It takes the first turn in `<folder>/script.json`
 * that no other run has taken, notes what it was asked, and prints what the turn says.
 */
import { closeSync, openSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// Also when nobody ends it.
setTimeout(() => process.exit(124), 300_000).unref();

const [folder] = process.argv.slice(2);
const turns = JSON.parse(readFileSync(join(folder, "script.json"), "utf8"));

/** Its number; of several runs at the same time each gets one of its own. */
function taken() {
  for (let turn = 0; ; turn++) {
    try {
      closeSync(openSync(join(folder, `turn-${turn}`), "wx"));
      return turn;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
  }
}

const number = taken();
const prompt = readFileSync(0, "utf8");
const asked = join(folder, `request-${number}.json`);
writeFileSync(`${asked}.new`, JSON.stringify({ id: process.pid, prompt }));
renameSync(`${asked}.new`, asked);

const turn = turns[number] ?? { standardError: "The script is used up.", exitCode: 70 };
const { output = "", standardError = "", exitCode = 0, bytesAtOnce = Infinity, hangs = false } = turn;
if (hangs) setInterval(() => {}, 1_000);
else {
  const bytes = Buffer.from(output, "base64");
  process.stderr.write(standardError);
  for (let from = 0; from < bytes.length; from += bytesAtOnce) {
    await new Promise((resolve) => process.stdout.write(bytes.subarray(from, from + bytesAtOnce), resolve));
  }
  process.exitCode = exitCode;
}
