import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

const run = promisify(execFile);
const program = new URL("../main.ts", import.meta.url).pathname;
const root = new URL("../../../", import.meta.url).pathname;

test.each([
  ["its own folder", [], "Explore a folder once"],
  ["the repository", [root], "Proviso evaluates prompts"],
])("OPT-5 a digest of %s is made once, and shown to the next evaluation", async (_, args, says) => {
  const { stdout } = await run(process.execPath, [...fromSources, program, ...args]);
  expect(stdout).toContain(`This folder: ${says}`);
  expect(stdout).toContain(`Answered after 0 calls: ${says}`);
});
