import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { guidesIn, relativeLinks } from "../guides.ts";
import { packageFaults } from "../package-faults.ts";
import { manifestIn, packagesIn } from "../packages.ts";

const root = resolve(import.meta.dirname, "../..");

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "proviso-published-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function manifest(id: string, fields: object = {}): string {
  const repository = { url: "git+https://example.org/a/b.git", directory: `packages/${id}` };
  return JSON.stringify({ name: `@proviso/${id}`, exports: {}, repository, ...fields });
}

const tree = {
  "packages/core/package.json": manifest("core"),
  "packages/runtime/package.json": manifest("runtime", { peerDependencies: { "@proviso/core": "*" } }),
  "docs/one.md": 'See [two](two.md#b), [three](three.md).\n```ts\nimport { a } from "@proviso/core";\n```\n',
  "docs/two.md": 'See [rules](../specs/a.md#a).\n```ts\nimport { a } from "@proviso/core";\n[a](b)\n```\n',
  "docs/README.md": "1. [one](one.md)\n",
  "docs/three.md": '```ts\nimport { a } from "@proviso/core";\nimport { b } from "@proviso/runtime";\n```\n',
};

describe("DOC-11 a guide travels in the package that it is about", () => {
  test("DOC-11 that is the outermost one that its program imports", () => {
    const guides = guidesIn(folderWith(tree));
    expect([...guides].map(([id, files]) => [id, [...files.keys()]])).toEqual([
      ["core", ["one.md", "two.md"]],
      ["runtime", ["three.md"]],
    ]);
  });

  test("DOC-11 its links to what travels with it stay, the others lead to the repository, and programs are untouched", () => {
    const core = guidesIn(folderWith(tree)).get("core");
    expect(core?.get("one.md")).toContain(
      "See [two](two.md#b), [three](https://example.org/a/b/blob/main/docs/three.md).",
    );
    expect(core?.get("two.md")).toContain("See [rules](https://example.org/a/b/blob/main/specs/a.md#a).");
    expect(core?.get("two.md")).toContain("\n[a](b)\n");
  });

  test("DOC-11 a page that is about no package is refused", () => {
    expect(() => guidesIn(folderWith({ ...tree, "docs/four.md": "No program." }))).toThrow(/docs\/four\.md/);
  });

  test("DOC-11 each guide of this repository travels in one package, and that package's README names it", () => {
    const pages = [...guidesIn(root)].flatMap(([id, files]) => [...files.keys()].map((page) => [id, page] as const));
    expect(pages.length).toBeGreaterThan(10);
    for (const [id, page] of pages) {
      expect(readFileSync(join(root, "packages", id, "README.md"), "utf8"), page).toContain(`docs/${page}`);
    }
  });
});

describe("DOC-12 a package stands alone", () => {
  const good = {
    ...manifestIn(join(root, "packages/core")),
    exports: {},
  };
  const texts: Readonly<Record<string, string>> = {
    LICENSE: "MIT",
    "README.md": "See docs/a.md, [here](https://example.org), [there](#there) and [a guide](docs/a.md#b).",
    "docs/a.md": "See [the README](../README.md).",
  };
  const faultsOf = (files: Readonly<Record<string, string>>, of: object = good): readonly string[] =>
    packageFaults("core", of as typeof good, { paths: Object.keys(files), text: (path) => files[path] ?? "" }, [
      "a.md",
    ]);

  test("DOC-12 one that does has no faults", () => {
    expect(faultsOf(texts)).toEqual([]);
  });

  test.each([
    ["README.md", "docs/a.md [up](../../README.md)", "README.md links to ../../README.md, which is not in the package"],
    ["docs/a.md", "[spec](../specs/a.md)", "docs/a.md links to ../specs/a.md, which is not in the package"],
    ["README.md", "[away](gone.md) docs/a.md", "README.md links to gone.md, which is not in the package"],
    ["README.md", "no guide", "README.md does not name the guide docs/a.md"],
    ["dist/a.test.js", "", "the package holds dist/a.test.js"],
    ["dist/.tsbuildinfo", "", "the package holds dist/.tsbuildinfo"],
  ])("DOC-12 a fault in %s: %s", (path, text, fault) => {
    expect(faultsOf({ ...texts, [path]: text })).toEqual([fault]);
  });

  test("DOC-12 what is missing is a fault: LICENSE, README, a guide", () => {
    expect(faultsOf({})).toEqual([
      "the package holds no LICENSE",
      "the package holds no README.md",
      "the package holds no docs/a.md",
      "README.md does not name the guide docs/a.md",
    ]);
  });

  test("DOC-12 a manifest names its author, its repository and folder, its page and where to report", () => {
    expect(faultsOf(texts, { name: "@proviso/core", exports: {} })).toEqual([
      "package.json has no author",
      "package.json has no repository",
      "package.json's repository.directory is not packages/core",
      "package.json's homepage does not lead to packages/core",
      "package.json has no bugs.url",
    ]);
  });

  test.each(packagesIn(root))("DOC-12 the README and the manifest of $id", ({ id, folder, manifest: real }) => {
    const text = readFileSync(join(folder, "README.md"), "utf8");
    expect(relativeLinks(text)).toEqual([]);
    const files = { paths: ["LICENSE", "README.md"], text: () => text };
    expect(packageFaults(id, real, files, [])).toEqual([]);
  });
});
