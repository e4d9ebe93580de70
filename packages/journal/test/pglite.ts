import { PGlite } from "@electric-sql/pglite";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/**
 * Postgres in this process, in memory. Making a new database takes four times as long as loading one, so the first run
 * keeps an empty one for the next; the files of a worker share it, each with tables of its own.
 */
export const pglite = await started();

async function started(): Promise<PGlite> {
  const entry = createRequire(import.meta.url).resolve("@electric-sql/pglite");
  const manifest = readFileSync(join(dirname(entry), "../package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string };
  const cache = new URL("../../../node_modules/.cache/", import.meta.url).pathname;
  const kept = join(cache, `pglite-${version}-empty.tar`);
  try {
    return await PGlite.create({ loadDataDir: new Blob([readFileSync(kept)]) });
  } catch {
    // There is none yet, or none that can be read.
  }
  const made = await PGlite.create();
  const empty = await made.dumpDataDir("none");
  mkdirSync(cache, { recursive: true });
  const unfinished = `${kept}.${process.pid}`;
  writeFileSync(unfinished, Buffer.from(await empty.arrayBuffer()));
  renameSync(unfinished, kept);
  return made;
}
