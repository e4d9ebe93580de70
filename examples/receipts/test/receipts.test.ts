import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { drawText, readText } from "../picture.ts";

vi.setConfig({ testTimeout: 300_000 });

const home = new URL("../", import.meta.url);
const run = promisify(execFile);

test("FILE-2 OUT-5 pictures become typed rows, and a sum that does not fit is read again, as the README shows", async () => {
  const { OPENAI_API_KEY: _, ...env } = process.env;
  const { stdout } = await run(process.execPath, [...fromSources, new URL("main.ts", home).pathname], { env });
  const [, shown = ""] = /```text\n([^`]+)```/.exec(await readFile(new URL("README.md", home), "utf8")) ?? [];
  expect(stdout).toBe(shown);
});

test("FILE-2 the pictures of the example are PNG files whose letters can be read", () => {
  const lines = ["ABCDEFGHIJKLM", "NOPQRSTUVWXYZ", "0123456789.-"];
  const png = drawText(lines);
  expect(png.subarray(0, 8).toString("latin1")).toBe("\u0089PNG\r\n\u001a\n");
  expect(readText(png)).toEqual(lines);
});
