import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../../..");

test("DOC-3 the table of adapters in docs/adapters.md has a row for each that the conformance suite runs for, with its skips", () => {
  const table = readFileSync(join(root, "docs/adapters.md"), "utf8").split("<!-- adapters -->")[1] ?? "";
  const suites = globSync("packages/adapter-*/test/conformance/*suite.test.ts", { cwd: root }).map((path) =>
    readFileSync(join(root, path), "utf8"),
  );
  const names = suites.flatMap((text) =>
    [...text.matchAll(/^\s*(?:describeAdapter|describeOpenAI|overTheWire)\(\s*["`]([^"`]+)["`]/gm)].map(
      ([, name = ""]) => name,
    ),
  );
  expect(names.length).toBeGreaterThan(6);
  // The toy of adapter-kit's own tests is nobody's adapter.
  for (const name of names.filter((one) => !one.startsWith("toy")))
    expect(table).toContain(`| ${name.replace(/\$\{api\}/, "responses")} |`);
  const reasons = suites.flatMap((text) =>
    [...text.matchAll(/^const no\w+ = "([^"]+)";$/gm)].map(([, why = ""]) => why),
  );
  for (const why of reasons) expect(table).toContain(why);
});
