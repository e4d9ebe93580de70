import { expect, test } from "vitest";
import { apiReport } from "../api-report.ts";
import { packagesWith } from "./declared-packages.ts";

/** The report of the package `a` among packages with these declarations. */
function reportOf(files: Readonly<Record<string, string>>): string {
  const packages = packagesWith(files);
  return apiReport(packages[0]!, packages);
}

test("DOC-15 a report has the names of an entry in order, with their signatures and without comments", () => {
  const report = reportOf({
    "packages/a/dist/index.d.ts": 'export { second, first } from "./all.ts";\nexport type { Kind } from "./all.ts";\n',
    "packages/a/dist/all.d.ts": `
      /** What it is. */
      export declare function second(/* in ms */ time: number): void;
      export declare function first(): string;
      export declare function first(kind: Kind): string;
      export type Kind = "a" | "b";
      export declare const unseen: number;
    `,
  });
  expect(report).toContain(
    [
      "## @proviso/a",
      "",
      "```ts",
      'type Kind = "a" | "b";',
      "function first(): string;",
      "function first(kind: Kind): string;",
      "function second( time: number): void;",
      "```",
    ].join("\n"),
  );
  expect(report).not.toContain("unseen");
});

test("DOC-15 a type that a signature uses and no entry exports is listed, and what that uses", () => {
  const report = reportOf({
    "packages/a/dist/index.d.ts": 'export { make } from "./make.ts";\n',
    "packages/a/dist/make.d.ts":
      'import type { Inner } from "./inner.ts";\nexport declare function make(): Made;\ninterface Made { readonly inner: Inner; }\n',
    "packages/a/dist/inner.d.ts": "export interface Inner { readonly size: number; }\nexport interface Other {}\n",
  });
  const [, hidden = ""] = report.split("## Used by these, and not exported");
  expect(hidden).toContain("interface Inner { readonly size: number; }\ninterface Made { readonly inner: Inner; }");
  expect(report).not.toContain("Other");
});

test("DOC-15 what is exported again from another package has its signature; what is internal has none", () => {
  const report = reportOf({
    "packages/a/dist/index.d.ts": 'export { shared } from "@proviso/b/internal";\nexport type { Z } from "zod";\n',
    "packages/a/dist/internal.d.ts": "export declare function own(): void;\n",
    "packages/b/dist/internal.d.ts": 'export { shared } from "./deep.ts";\n',
    "packages/b/dist/deep.d.ts": "export declare function shared(at: Place): void;\ninterface Place {}\n",
  });
  expect(report).toContain('export { Z } from "zod";\nfunction shared(at: Place): void;');
  expect(report).not.toContain("own");
  expect(report).not.toContain("interface Place");
});
