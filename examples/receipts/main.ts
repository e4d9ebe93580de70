import assert from "node:assert/strict";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openai } from "@proviso/adapter-openai";
import { Blobs, provide } from "@proviso/core";
import { fileAt, folderBlobs } from "@proviso/node";
import { createSession, evaluateAll } from "@proviso/runtime";
import { startSimulator } from "@proviso/simulator";
import { drawText } from "./picture.ts";
import { readReceipt, type Receipt } from "./receipts.ts";
import { read } from "./simulated-reader.ts";

const printed: Readonly<Record<string, readonly string[]>> = {
  "bakery.png": ["BAKERY", "", "BREAD     3.20", "ROLLS     2.40", "TOTAL     5.60"],
  "hardware.png": ["HARDWARE", "", "HAMMER   18.90", "NAILS     4.10", "TOTAL    23.00"],
  "station.png": ["STATION CAFE", "", "TEA       2.70", "CAKE      3.80", "WATER     1.50", "TOTAL     8.00"],
};

const folder = await mkdtemp(join(tmpdir(), "receipts-"));
try {
  for (const [name, lines] of Object.entries(printed)) await writeFile(join(folder, name), drawText(lines));
  await readAll(folder);
} finally {
  await rm(folder, { recursive: true });
}

async function readAll(pictures: string): Promise<void> {
  // Without a key, a simulator on this machine plays the model.
  const apiKey = process.env["OPENAI_API_KEY"]?.trim() || undefined;
  await using service = apiKey === undefined ? await startSimulator({ rules: [read] }) : undefined;
  const model = service === undefined ? "gpt-5.4" : "simulated";
  const adapter = openai({ model, apiKey: apiKey ?? "no-key-needed", baseURL: service?.baseURL });
  const names = (await readdir(pictures)).filter((name) => name.endsWith(".png")).toSorted();
  const files = await Promise.all(names.map((name) => fileAt(join(pictures, name))));

  const session = createSession();
  const results = evaluateAll(
    files.map((picture) => readReceipt.bind({ picture })),
    {
      adapter,
      session,
      concurrency: 2,
      maxRepairs: 2,
      resources: [provide(Blobs, folderBlobs(join(pictures, "kept")))],
    },
  );
  const receipts: Receipt[] = [];
  for await (const result of results) {
    const name = names[result.index];
    if (!result.ok) {
      console.log(`${name}: ${String(result.error)}`);
      continue;
    }
    const { output, turns } = result.response;
    receipts.push(output);
    const again = turns === 1 ? "" : ` (read ${turns} times)`;
    console.log(`${name}: ${output.items.length} items, ${output.total.toFixed(2)} at ${output.shop}${again}`);
  }
  const sum = receipts.reduce((total, receipt) => total + receipt.total, 0);
  console.log(`${receipts.length} of ${files.length} receipts, ${sum.toFixed(2)} in all`);
  if (service !== undefined) assert.equal(sum.toFixed(2), "36.60");
}
