import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { inProcess, temporaryFolder } from "./support.ts";

test("CLI-4 --version prints the version of the package", async () => {
  const manifest = await readFile(new URL("../package.json", import.meta.url), "utf8");
  const { version } = JSON.parse(manifest) as { readonly version: string };
  const folder = await temporaryFolder();
  for (const flag of ["--version", "-v"]) {
    expect(await inProcess(folder, [flag])).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  }
});
