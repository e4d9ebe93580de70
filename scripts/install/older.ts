/** Projects that have older versions of the peers, and what is tried in them. */
import { copyFileSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";

interface OlderProject {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  /** Patterns of cases that the SDKs of that time do not let through: specs/adapter-ai-sdk.md says what becomes of each. */
  readonly passedOver: readonly string[];
}

const ofBoth = ["LOOP-2 arguments are replayed", "LOOP-5 JSON of another shape"];
const refusals = ["LOOP-5 a refusal", "PRO-1 .* a refused answer"];

export const olderProjects: readonly OlderProject[] = [
  {
    name: "vitest 3, zod 3 and ai 5",
    dependencies: { vitest: "3", zod: "3", ai: "5", "@ai-sdk/openai": "2", "@ai-sdk/openai-compatible": "1" },
    passedOver: [
      ...ofBoth,
      ...refusals,
      "LIM-6 usage that is missing",
      "TOOL-7 doubled and missing call ids",
      "litellm.* keeps .*FILE-2 FILE-6 (?:paper|voice)",
    ],
  },
  {
    name: "vitest 4, zod 3 and ai 6",
    dependencies: { vitest: "4", zod: "3", ai: "6", "@ai-sdk/openai": "3", "@ai-sdk/openai-compatible": "2" },
    passedOver: [...ofBoth, ...refusals.map((title) => `(?:openai-compatible|litellm) keeps .*${title}`)],
  },
];

/** The conformance suite of adapter-ai-sdk, in a project that has installed what it imports. */
export function writeConformance(here: string, root: string): void {
  const matrix = join(here, "fault-matrix");
  mkdirSync(matrix);
  for (const path of globSync("fault-matrix/src/*.ts", { cwd: root })) {
    copyFileSync(join(root, path), join(matrix, basename(path)));
  }
  const suite = join(root, "packages/adapter-ai-sdk/test/conformance");
  for (const file of ["scripted-model.ts", "over-the-wire.ts", "suite.test.ts"]) {
    // The other modules of fault-matrix need a zod of today.
    const text = readFileSync(join(suite, file), "utf8").replaceAll(
      '"@proviso/fault-matrix"',
      '"./fault-matrix/conformance.ts"',
    );
    writeFileSync(join(here, file), text);
  }
  writeFileSync(join(here, "vitest.config.mjs"), "export default { test: { provide: { exhaustive: true } } };\n");
}
