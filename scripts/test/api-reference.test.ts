import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { apiPage, indexPage } from "../api-reference.ts";
import { entriesOf, packagesIn, root, run } from "../packages.ts";
import { packagesWith } from "./declared-packages.ts";

function pageOf(index: string): string {
  const packages = packagesWith({ "packages/a/dist/index.d.ts": index });
  return apiPage(packages[0]!, packages);
}

test("DOC-19 a name has its docstring as text, then its declaration with the docstrings of its members", () => {
  const page = pageOf(`
    /**
     * What is made.
     * Of two lines.
     */
    export interface Made {
        /** How big, in bytes. */
        readonly size: number;
    }
  `);
  expect(page).toContain("### Made\n\nWhat is made.\nOf two lines.\n\n```ts\ninterface Made {\n");
  expect(page).toContain("/** How big, in bytes. */\n        readonly size: number;");
});

test("DOC-19 the tags of a docstring are paragraphs, and an example is code", () => {
  const page = pageOf(`
    /**
     * Makes one. @throws {RangeError} for a size below 0,
     * or none.
     * @param options.size in bytes
     * @returns the same each time
     * @example
     * make({ size: 1 });
     */
    export declare function make(options: { size: number }): void;
  `);
  expect(page).toContain(
    [
      "Makes one.",
      "**Throws** `RangeError` for a size below 0,\nor none.",
      "**`options.size`** in bytes",
      "**Returns** the same each time",
      "**Example**",
      "```ts\nmake({ size: 1 });\n```",
      "```ts\nfunction make(options: { size: number }): void;\n```",
    ].join("\n\n"),
  );
});

test("DOC-19 names that differ in capitals alone have links of their own, and overloads one heading", () => {
  const page = pageOf(`
    /** A kind. */
    export type Kind = string;
    /** Of a text. */
    export declare function kind(text: string): Kind;
    /** Of a number. */
    export declare function kind(number: number): Kind;
  `);
  expect(page).toContain("[Kind](#kind) · [kind](#kind-1)");
  expect(page.match(/^### kind$/gm)).toHaveLength(1);
  expect(page).toContain("### kind\n\nOf a text.\n\nOf a number.\n");
});

describe("DOC-19 the packages of this repository", () => {
  // A package may be a command alone.
  const packages = packagesIn(root).filter(({ manifest }) => entriesOf(manifest).length > 0);
  // The pages are made of what the compiler declares.
  beforeAll(() => void run("tsc", ["-b"], root), 600_000);

  test.each(packages)("DOC-19 every name that $id exports has a heading below its entry", (one) => {
    const page = apiPage(one, packages);
    const [, ...sections] = readFileSync(join(root, `api/${one.id}.md`), "utf8").split(/^## /m);
    expect(sections.length).toBeGreaterThan(0);
    for (const section of sections) {
      const title = section.slice(0, section.indexOf("\n"));
      const [, below = ""] = page.split(new RegExp(`^## \`?${title}\`?$`, "m"));
      const headings = new Set([...below.split(/^## /m)[0]!.matchAll(/^### (.+)$/gm)].map(([, name]) => name));
      const names = section.matchAll(/^(?:abstract )?(?:interface|type|class|function|const|let) (\w+)/gm);
      expect([...headings].toSorted(), title).toEqual([...new Set([...names].map(([, name]) => name))].toSorted());
    }
  });

  test.each(packages)("DOC-19 every link to a name of $id leads to a heading", (one) => {
    const page = apiPage(one, packages);
    const anchors = new Set<string>();
    for (const [, text = ""] of page.matchAll(/^#+ (.+)$/gm)) {
      const anchor = text
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, "")
        .replaceAll(" ", "-");
      let unique = anchor;
      for (let count = 1; anchors.has(unique); count++) unique = `${anchor}-${count}`;
      anchors.add(unique);
    }
    const links = [...page.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor!);
    expect(links.filter((anchor) => !anchors.has(anchor))).toEqual([]);
  });

  test("DOC-19 the index links the page of each package", () => {
    for (const { id, manifest } of packages) {
      expect(indexPage(packages)).toContain(`- [${manifest.name}](${id}.md): ${manifest.description}`);
    }
  });
});
