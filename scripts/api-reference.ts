/**
 * `pnpm docs:api` writes docs/api/: a page for each package with every name that its entries export, the name's docstring,
 * and its declaration with the docstrings of its members. The pages are made from the declarations of the build and are
 * not in git. TypeDoc and API Extractor read TypeScript up to 6 only, by an API that TypeScript 7 does not have.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { publicApi, type PublicName } from "./declarations.ts";
import { entriesOf, packagesIn, root, type Package } from "./packages.ts";

/** The page of a package. `others` are the packages whose declarations it may export again. */
export function apiPage(one: Package, others: readonly Package[]): string {
  const { entries, hidden } = publicApi(one, others);
  const parts = [...entries].map(([entry, names]) => ({ title: `\`${entry}\``, names }));
  if (hidden.length > 0) parts.push({ title: "Used by these, and not exported", names: hidden });
  const anchors = anchorsOf([
    one.manifest.name,
    ...parts.flatMap(({ title, names }) => [title, ...names.map(({ name }) => name)]),
  ]);
  let at = 1;
  const sections = parts.map(({ title, names }) => {
    const own = anchors.slice(at + 1, (at += names.length + 1));
    const links = names.map(({ name }, index) => `[${name}](#${own[index]})`);
    return [`## ${title}`, links.join(" · "), ...names.map(sectionOf)].join("\n\n");
  });
  const { name, description } = one.manifest;
  return `${[`# ${name}`, ...(description === undefined ? [] : [description]), ...sections].join("\n\n")}\n`;
}

/** Links to the pages. */
export function indexPage(packages: readonly Package[]): string {
  const lines = packages.map(({ id, manifest: { name, description = "" } }) => `- [${name}](${id}.md): ${description}`);
  return ["# The API of each package", "Written by `pnpm docs:api`.", lines.join("\n")].join("\n\n") + "\n";
}

function sectionOf({ name, declarations }: PublicName): string {
  const texts = declarations.map(({ docstring }) => prose(docstring)).filter((text) => text !== "");
  const code = ["```ts", ...declarations.map(({ text }) => text), "```"].join("\n");
  return [`### ${name}`, ...texts, code].join("\n\n");
}

/** What a docstring says, as Markdown: each tag begins a paragraph, an example is code. */
function prose(docstring: string): string {
  const [text = "", ...tags] = docstring
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .replaceAll(/^[ \t]*\* ?/gm, "")
    .split(/\s*(?=@(?:throws|returns|param|example)\b)/);
  return [text, ...tags.map(tagged)]
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .join("\n\n");
}

function tagged(part: string): string {
  const [, tag, content = ""] = /^@(\w+)\s*([\s\S]*)$/.exec(part) ?? [];
  const text = content.trim();
  if (tag === "throws") return `**Throws** ${text.replace(/^\{(\w+)\}/, "`$1`")}`;
  if (tag === "returns") return `**Returns** ${text}`;
  if (tag === "param") return text.replace(/^[\w.]+/, "**`$&`**");
  return `**Example**\n\n${text.includes("```") ? text : `\`\`\`ts\n${text}\n\`\`\``}`;
}

/** The anchors that GitHub gives to headings of these texts, in order. */
function anchorsOf(headings: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  return headings.map((heading) => {
    const anchor = heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-");
    const count = counts.get(anchor) ?? 0;
    counts.set(anchor, count + 1);
    return count === 0 ? anchor : `${anchor}-${count}`;
  });
}

function main(): void {
  const folder = join(root, "docs/api");
  // A package may be a command alone.
  const packages = packagesIn(root).filter(({ manifest }) => entriesOf(manifest).length > 0);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const one of packages) writeFileSync(join(folder, `${one.id}.md`), apiPage(one, packages));
  writeFileSync(join(folder, "README.md"), indexPage(packages));
  console.log(`docs/api: ${packages.length} packages`);
}

if (process.argv[1] === import.meta.filename) main();
