import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished, test } from "vitest";
import { findChromium } from "../../../scripts/chromium.ts";

const committed = new URL("../../../docs/pictures", import.meta.url).pathname;
const names = ["runs", "run", "state", "compare", "matrix"].flatMap((view) =>
  ["dark", "light"].map((theme) => `viewer-${view}-${theme}.png`),
);

/** Each is there, of the window's size, and small. */
async function expectPictures(folder: string): Promise<void> {
  expect((await readdir(folder)).toSorted()).toEqual(names.toSorted());
  for (const name of names) {
    const bytes = await readFile(join(folder, name));
    // The header of a PNG has its width and height.
    expect([name, bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([name, 1_200, 720]);
    expect(bytes.length).toBeLessThan(150_000);
  }
}

test("DOC-25 the pictures of docs/viewer.md are there and small, and the page shows each view", async () => {
  await expectPictures(committed);
  const page = await readFile(join(committed, "../viewer.md"), "utf8");
  for (const name of names) expect(page).toContain(`(pictures/${name})`);
});

const executable = findChromium();

// A browser takes its time: `pnpm test:exhaustive` has this one.
test.runIf(executable !== undefined && inject("exhaustive"))(
  "DOC-25 a real Chromium takes them again",
  async () => {
    const folder = await mkdtemp(join(tmpdir(), "screens-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const program = new URL("../screens.ts", import.meta.url).pathname;
    await promisify(execFile)(process.execPath, ["--conditions=@proviso/source", program, folder]);
    await expectPictures(folder);
  },
  120_000,
);

test.runIf(executable === undefined)("DOC-25 no Chromium is installed: no picture was taken", (context) => {
  context.skip("install Debian's package chromium, or name one in CHROMIUM");
});
