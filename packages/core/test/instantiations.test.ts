import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const root = new URL("../../../", import.meta.url).pathname;
const require = createRequire(import.meta.url);
const run = promisify(execFile);

const imports = `import { definePrompt, defineTool } from "@proviso/core";\nimport { z } from "zod";\n`;

/** A prompt with that many inline sections: placeholders, tools, children and summaries among them. */
function definition(sections: number): string {
  const section = (index: number): string => `    {
      key: "s${index}",
      title: "Section ${index}",
      text: "Part ${index} for {{name}}: {{count}} of \\\\{{these}}, in {{place}}.\\nThen go on with {{ name }} and $& and {this}.",
      summary: "Part ${index} for {{name}}.",
      visibility: ({ urgent }) => (urgent ? "full" : "summary"),
      enabled: ({ count }) => count > ${index},
      tools: [
        defineTool({
          name: "tool_${index}",
          description: "Does ${index}.",
          input: z.object({ id: z.string(), ${"x".repeat((index % 5) + 1)}: z.number().optional() }),
          execute: ({ id }) => id,
        }),
      ],
      children: [{ key: "more", text: "More of {{place}} for {{name}}." }],
    },\n`;
  return `export const prompt = definePrompt({
  key: "large",
  params: z.object({ name: z.string(), count: z.number(), place: z.string(), urgent: z.boolean() }),
  output: z.object({ done: z.array(z.string()) }),
  sections: [\n${Array.from({ length: sections }, (_, index) => section(index)).join("")}  ],
});\n`;
}

interface Checked {
  readonly instantiations: number;
  readonly output: string;
}

/** What tsc says of a program, in a process of its own. */
async function checked(source: string): Promise<Checked> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "instantiations-")));
  onTestFinished(() => rm(folder, { recursive: true }));
  const tsconfig = {
    extends: join(root, "tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      types: ["node"],
      typeRoots: [join(root, "node_modules/@types")],
      paths: {
        "@proviso/core": [join(root, "packages/core/src/index.ts")],
        zod: [join(dirname(require.resolve("zod/package.json")), "index.d.ts")],
      },
    },
    files: ["program.ts"],
  };
  await writeFile(join(folder, "package.json"), '{ "type": "module" }');
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  await writeFile(join(folder, "program.ts"), source);
  const tsc = join(root, "node_modules/.bin/tsc");
  const output = await run(tsc, ["-p", folder, "--extendedDiagnostics"]).then(
    ({ stdout }) => stdout,
    ({ stdout }: { readonly stdout: string }) => stdout,
  );
  return { instantiations: Number(/^Instantiations:\s+(\d+)/m.exec(output)?.[1]), output };
}

test(
  "PRM-12 a prompt of 40 inline sections type-checks in under 200,000 instantiations",
  { timeout: 300_000 },
  async () => {
    const { instantiations, output } = await checked(imports + definition(40));
    expect(output).not.toMatch(/error TS/);
    expect(instantiations).toBeGreaterThan(1_000);
    expect(instantiations).toBeLessThan(200_000);
  },
);

test(
  "PRM-12 PRM-3 and its texts are still checked: the last one's unknown placeholder is an error",
  { timeout: 300_000 },
  async () => {
    const source = (imports + definition(40)).replace("Part 39 for {{name}}.", "Part 39 for {{nmae}}.");
    const { output } = await checked(source);
    expect(output).toMatch(/error TS[\s\S]*"nmae"/);
  },
);
