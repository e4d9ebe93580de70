/**
 * Writes the guides of docs/ into the packages that they are about: packages/<id>/docs/, which is packed and not in git.
 * A guide belongs to the outermost package that its program imports: the one that rests on the others.
 */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, posix } from "node:path";
import { packagesIn, root as here, type Package } from "./packages.ts";

/** The reading order of the guides: it is no guide itself, and stays in the repository. */
const index = "README.md";

/** The name of each guide's file and its text, by the package's id; links lead to the package's own files or to the repository. */
export function guidesIn(root: string): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const packages = packagesIn(root);
  const pages = globSync("docs/*.md", { cwd: root }).filter((path) => basename(path) !== index);
  const texts = new Map(pages.toSorted().map((path) => [basename(path), readFileSync(join(root, path), "utf8")]));
  const owners = new Map([...texts].map(([page, text]) => [page, ownerOf(page, text, packages)]));
  const guides = packages.map(({ id, manifest: { repository } }) => {
    const own = [...texts].filter(([page]) => owners.get(page) === id);
    const names = new Set(own.map(([page]) => page));
    const files = own.map(([page, text]) => [page, relinked(text, names, webAddress(repository?.url))] as const);
    return [id, new Map(files)] as const;
  });
  return new Map(guides);
}

function ownerOf(page: string, text: string, packages: readonly Package[]): string {
  const imported = packages.filter(({ manifest }) => new RegExp(`from "${manifest.name}["/]`).test(text));
  const outermost = imported.toSorted((a, b) => depthOf(b, packages) - depthOf(a, packages))[0];
  if (outermost === undefined) throw new Error(`docs/${page} has no program that imports one of the packages.`);
  return outermost.id;
}

/** How many packages of ours stand below it, one upon the other. */
function depthOf({ manifest: { dependencies, peerDependencies } }: Package, packages: readonly Package[]): number {
  const below = packages.filter(({ manifest: { name } }) => name in { ...dependencies, ...peerDependencies });
  return below.length === 0 ? 0 : 1 + Math.max(...below.map((other) => depthOf(other, packages)));
}

/** `git+https://host/a/b.git` as people open it. */
function webAddress(url = ""): string {
  return url.replace(/^git\+/, "").replace(/\.git$/, "");
}

/** A relative link to what does not travel with the page leads to the repository. */
function relinked(text: string, beside: ReadonlySet<string>, repository: string): string {
  return inProse(text, (prose) =>
    prose.replaceAll(linkPattern, (link, target: string) => {
      const [path = "", anchor] = target.split("#");
      if (isAddress(target) || beside.has(path)) return link;
      const there = `${repository}/blob/main/${posix.join("docs", path)}`;
      return `](${there}${anchor === undefined ? "" : `#${anchor}`})`;
    }),
  );
}

const linkPattern = /\]\(([^)\s]+)\)/g;

/** Has a scheme, or leads to a place on the page itself. */
function isAddress(target: string): boolean {
  return /^(?:[a-z]+:|#)/i.test(target);
}

/** Programs and what stands between backticks are not prose. */
function inProse(markdown: string, change: (prose: string) => string): string {
  return markdown.replaceAll(/(```[\s\S]*?```|`[^`\n]*`)|[^`]+/g, (part, code?: string) =>
    code === undefined ? change(part) : code,
  );
}

/** The relative targets of a page's links, without their anchors. */
export function relativeLinks(markdown: string): readonly string[] {
  const found: string[] = [];
  inProse(markdown, (prose) => {
    for (const [, target = ""] of prose.matchAll(linkPattern)) {
      if (!isAddress(target)) found.push(target.split("#")[0] ?? "");
    }
    return prose;
  });
  return found;
}

function writeGuides(root: string): void {
  const guides = guidesIn(root);
  for (const { id, folder } of packagesIn(root)) {
    rmSync(join(folder, "docs"), { recursive: true, force: true });
    const files = guides.get(id) ?? new Map<string, string>();
    if (files.size > 0) mkdirSync(join(folder, "docs"));
    for (const [name, text] of files) writeFileSync(join(folder, "docs", name), text);
  }
}

if (process.argv[1] === import.meta.filename) writeGuides(here);
