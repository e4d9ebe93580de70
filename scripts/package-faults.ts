/** What is wrong with a package as it would be published. Pure: what it reads is given. */
import { posix } from "node:path";
import { relativeLinks } from "./guides.ts";
import type { Manifest } from "./packages.ts";

/** A package's files by their paths inside it; the texts are read where they are looked at. */
export interface PackedFiles {
  readonly paths: readonly string[];
  text(path: string): string;
}

/** @param guides the file names of the guides that the package has to carry. */
export function packageFaults(
  id: string,
  manifest: Manifest,
  files: PackedFiles,
  guides: Iterable<string>,
): readonly string[] {
  const names = [...guides];
  return [...manifestFaults(id, manifest), ...fileFaults(files, names), ...linkFaults(files)];
}

/** A registry's page links to the sources, to the issues and to the package's own README. */
function manifestFaults(id: string, { author, homepage, bugs, repository }: Manifest): readonly string[] {
  const directory = `packages/${id}`;
  const faults: string[] = [];
  if (!author) faults.push("package.json has no author");
  if (!repository?.url?.startsWith("git+https://")) faults.push("package.json has no repository");
  if (repository?.directory !== directory) faults.push(`package.json's repository.directory is not ${directory}`);
  if (!homepage?.includes(directory)) faults.push(`package.json's homepage does not lead to ${directory}`);
  if (!bugs?.url) faults.push("package.json has no bugs.url");
  return faults;
}

function fileFaults({ paths, text }: PackedFiles, guides: readonly string[]): readonly string[] {
  const unwanted = paths.filter((path) => /tsbuildinfo|\.test\.|(?:^|\/)test\/|\.tsc\//.test(path));
  const pages = guides.map((name) => `docs/${name}`);
  const missing = ["LICENSE", "README.md", ...pages].filter((path) => !paths.includes(path));
  const readme = paths.includes("README.md") ? text("README.md") : "";
  return [
    ...unwanted.map((path) => `the package holds ${path}`),
    ...missing.map((path) => `the package holds no ${path}`),
    ...pages.filter((path) => !readme.includes(path)).map((path) => `README.md does not name the guide ${path}`),
  ];
}

/** Who reads a page in node_modules has nothing but the package. */
function linkFaults({ paths, text }: PackedFiles): readonly string[] {
  const there = new Set(paths);
  return paths
    .filter((path) => path.endsWith(".md"))
    .flatMap((page) =>
      relativeLinks(text(page))
        .filter((target) => !there.has(posix.join(posix.dirname(page), target)))
        .map((target) => `${page} links to ${target}, which is not in the package`),
    );
}
