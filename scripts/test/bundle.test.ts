import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { bundle } from "../bundle.ts";
import { lowestNode } from "../packages.ts";

/** A package with these sources, bundled; its entry's JavaScript. */
async function bundled(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "proviso-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const manifest = {
    type: "module",
    engines: { node: ">=22.13" },
    exports: {
      ".": { "@proviso/source": "./src/index.ts", default: "./dist/index.js" },
      "./package.json": "./package.json",
    },
  };
  for (const [name, text] of Object.entries({ ...files, "package.json": JSON.stringify(manifest) })) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  await bundle(folder);
  return readFileSync(join(folder, "dist/index.js"), "utf8");
}

test("DOC-10 a bundle has the syntax of the lowest Node that engines names: no using, and no helper from outside", async () => {
  const source = `
    interface Closed { value: string }
    export async function first(open: () => AsyncDisposable & Closed): Promise<string> {
      await using opened = open();
      return opened.value;
    }
    export function second(open: () => Disposable & Closed): string {
      using opened = open();
      return opened.value;
    }`;
  const text = await bundled({ "src/index.ts": source });
  expect(text).not.toMatch(/^\s*(?:await )?using /m);
  expect(text).not.toMatch(/^import /m);
});

test("DOC-10 a bundle has the package's own modules, and imports its dependencies", async () => {
  const text = await bundled({
    "src/index.ts": 'import { z } from "zod";\nimport { own } from "./own.ts";\nexport const a = z.literal(own);',
    "src/own.ts": 'export const own = "of this package";',
  });
  expect(text).toContain("of this package");
  expect(text).toMatch(/^import \{ z \} from "zod";$/m);
});

test("DOC-10 the lowest Node is read from engines, and another form is refused, not guessed", () => {
  expect(lowestNode(">=22.13")).toBe("22.13");
  expect(lowestNode(">=24")).toBe("24");
  expect(() => lowestNode("^22.13 || >=24")).toThrow(/engines\.node/);
  expect(() => lowestNode(undefined)).toThrow(/engines\.node/);
});
