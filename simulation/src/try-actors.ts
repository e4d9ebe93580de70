import { simulateActors } from "/work/h/simulation/simulation/src/actors/simulate-actors.ts";
const from = Number(process.argv[2] ?? 1),
  n = Number(process.argv[3] ?? 200);
process.on("unhandledRejection", (e) => console.log("UNHANDLED", e));
const t = performance.now();
let bad = 0;
const seen = new Map<string, number>();
for (let seed = from; seed < from + n; seed++) {
  let book;
  try {
    book = await simulateActors(seed);
  } catch (e) {
    console.log("seed", seed, e);
    process.exit(1);
  }
  if (n === 1) console.log(book.trace.join("\n"));
  if (book.violations.length) {
    bad++;
    const v = book.violations[0]!.replace(/\d+/g, "N").slice(0, 90);
    if (!seen.has(v)) console.log(seed, book.violations[0]);
    seen.set(v, (seen.get(v) ?? 0) + 1);
  }
}
console.log(bad, "bad of", n, Math.round(performance.now() - t), "ms");
console.log([...seen].map(([v, c]) => c + " " + v).join("\n"));
