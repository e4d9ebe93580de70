import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { programs, type Program } from "../../../scripts/install/readme.ts";

export const root = new URL("../../../", import.meta.url).pathname;
export const docs = join(root, "docs");
export const index = "README.md";
export const files = (await readdir(docs)).filter((name) => name.endsWith(".md"));
export const pages = files.filter((name) => name !== index);

async function programsOf(page: string): Promise<readonly (Program & { page: string; number: number })[]> {
  const markdown = await readFile(join(docs, page), "utf8");
  return programs(markdown).map((program, at) => ({ ...program, page, number: at + 1 }));
}

/** The programs of all guides. */
export const guidePrograms = (await Promise.all(pages.map(programsOf))).flat();
