import { BaseSequencer, type TestSpecification } from "vitest/node";
import { relative } from "node:path";
import { root } from "./packages.ts";

/** The folder with very many small files comes last: then no worker is still busy while the others have nothing to do. */
const folders = ["simulation", "examples", "scripts", "packages"];
/** Small files, of which each runs an adapter through very many cases. */
const long = /\/conformance\/|\/long-chat\./;

/** The order of the files: what takes long does not begin last. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rankOf(a) - rankOf(b));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const [folder = ""] = relative(root, moduleId).split("/");
  return folders.indexOf(folder) * 2 + (long.test(moduleId) ? 0 : 1);
}
