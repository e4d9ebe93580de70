import { existsSync, globSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join, posix, resolve, sep } from "node:path";
import { describe, expect, test } from "vitest";

const root = resolve(import.meta.dirname, "../..");

/** The packages, and which of ours each may import. A package is added here on purpose, with its arrows. */
const arrows: Record<string, string[]> = {
  "@proviso/adapter-ai-sdk": ["@proviso/adapter-kit", "@proviso/core", "@proviso/runtime"],
  "@proviso/adapter-kit": ["@proviso/core", "@proviso/runtime"],
  "@proviso/adapter-openai": ["@proviso/adapter-kit", "@proviso/core", "@proviso/runtime"],
  "@proviso/adapter-process": [
    "@proviso/adapter-kit",
    "@proviso/core",
    "@proviso/mcp",
    "@proviso/node",
    "@proviso/runtime",
  ],
  "@proviso/cli": [
    "@proviso/adapter-ai-sdk",
    "@proviso/adapter-openai",
    "@proviso/core",
    "@proviso/evals",
    "@proviso/journal",
    "@proviso/node",
    "@proviso/runtime",
    "@proviso/viewer",
  ],
  "@proviso/core": [],
  "@proviso/estimation": ["@proviso/core", "@proviso/runtime"],
  "@proviso/evals": ["@proviso/core", "@proviso/node", "@proviso/runtime"],
  "@proviso/journal": ["@proviso/core", "@proviso/node", "@proviso/runtime"],
  "@proviso/mcp": ["@proviso/adapter-kit", "@proviso/core", "@proviso/node", "@proviso/runtime"],
  "@proviso/node": ["@proviso/core", "@proviso/estimation", "@proviso/runtime"],
  "@proviso/otel": ["@proviso/core"],
  "@proviso/primitive": [
    "@proviso/adapter-ai-sdk",
    "@proviso/adapter-kit",
    "@proviso/core",
    "@proviso/estimation",
    "@proviso/runtime",
  ],
  "@proviso/runtime": ["@proviso/core"],
  "@proviso/simulator": [],
  "@proviso/toolkit": ["@proviso/core", "@proviso/runtime"],
  "@proviso/viewer": ["@proviso/core", "@proviso/journal", "@proviso/runtime"],
  "@proviso/worker": ["@proviso/core", "@proviso/journal", "@proviso/runtime"],
};

const entries: Record<string, string[]> = {
  "@proviso/adapter-ai-sdk": ["."],
  "@proviso/adapter-kit": [".", "./conformance"],
  "@proviso/adapter-openai": [".", "./node"],
  "@proviso/adapter-process": ["."],
  "@proviso/cli": ["."],
  "@proviso/core": [".", "./internal", "./provider"],
  "@proviso/estimation": ["."],
  "@proviso/evals": [".", "./bullmq", "./node", "./statistics", "./vitest"],
  "@proviso/journal": [".", "./internal", "./node", "./postgres", "./testing"],
  "@proviso/mcp": [".", "./internal", "./server"],
  "@proviso/node": [".", "./internal"],
  "@proviso/otel": ["."],
  "@proviso/primitive": ["."],
  "@proviso/runtime": [".", "./internal", "./recording", "./routing", "./testing"],
  "@proviso/simulator": ["."],
  "@proviso/toolkit": ["."],
  "@proviso/viewer": [".", "./runs"],
  "@proviso/worker": [".", "./bullmq", "./restate"],
};

interface Manifest {
  name: string;
  exports: Record<string, string | Record<string, string>>;
  publishConfig: { exports: Record<string, string | Record<string, string>> };
  dependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
}

const packages = globSync("packages/*/package.json", { cwd: root })
  .toSorted()
  .map((path) => ({
    folder: join(root, path, ".."),
    manifest: JSON.parse(readFileSync(join(root, path), "utf8")) as Manifest,
  }));

function sources(folder: string): { path: string; text: string }[] {
  return globSync("src/**/*.ts", { cwd: folder }).map((path) => ({
    path: path.split(sep).join("/"),
    text: readFileSync(join(folder, path), "utf8"),
  }));
}

/** Module names after `from`, in `import("…")` and in `import "…"`. Comments and docstrings do not count. */
function imports(text: string): string[] {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const pattern = /^\s*(?:import|export)\b[^;"']*?\bfrom\s*["']([^"']+)["']|\bimport\s*\(?\s*["']([^"']+)["']/gm;
  return [...code.matchAll(pattern)].map((match) => match[1] ?? match[2] ?? "");
}

test("DOC-21 docs/architecture.md names every package, and draws the arrows but for those that follow from others", () => {
  const page = readFileSync(join(root, "docs/architecture.md"), "utf8");
  const short = (name: string): string => name.replace("@proviso/", "");
  const names = Object.keys(arrows).map(short);
  const [, drawing = ""] = /^```mermaid\nflowchart BT\n([\s\S]*?)^```/m.exec(page) ?? [];
  const labels = new Map([...drawing.matchAll(/(\w+)\["([\w-]+)"\]/g)].map(([, id = "", label = ""]) => [id, label]));
  const nameOf = (id = ""): string => labels.get(id) ?? id;
  const drawn = [...drawing.matchAll(/^ {2}(\w+)(?:\["[\w-]+"\])? --> (\w+)/gm)].map(
    ([, from, to]) => [nameOf(from), nameOf(to)] as const,
  );
  const reached = (name: string, next: (name: string) => readonly string[]): readonly string[] => [
    ...new Set(next(name).flatMap((to) => [to, ...reached(to, next)])),
  ];
  const pinned = (name: string): readonly string[] => (arrows[`@proviso/${name}`] ?? []).map(short);
  const shown = (name: string): readonly string[] => drawn.filter(([from]) => from === name).map(([, to]) => to);
  for (const name of names) {
    expect(page, name).toMatch(new RegExp(`^\\|.*\`${name}\`.* \\|$`, "m"));
    expect(reached(name, shown).toSorted(), name).toEqual(reached(name, pinned).toSorted());
    const direct = shown(name);
    expect(direct.filter((to) => direct.some((other) => reached(other, shown).includes(to)))).toEqual([]);
  }
});

test("the package set is the pinned one", () => {
  expect(packages.map(({ manifest }) => manifest.name)).toEqual(Object.keys(arrows));
});

describe.each(packages)("$manifest.name", ({ folder, manifest }) => {
  const files = sources(folder);
  const allowed = arrows[manifest.name] ?? [];

  test("imports only what the arrows allow, and declares it", () => {
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
    expect(declared.filter((name) => name.startsWith("@proviso/")).toSorted()).toEqual(allowed);
    for (const { path, text } of files) {
      for (const name of imports(text).filter((imported) => imported.startsWith("@proviso/"))) {
        expect(allowed, `${path} imports ${name}`).toContain(name.split("/").slice(0, 2).join("/"));
      }
    }
  });

  test("exports the pinned entries, whose sources exist", () => {
    const names = entries[manifest.name] ?? [];
    expect(Object.keys(manifest.exports)).toEqual([...names, "./package.json"]);
    for (const name of names) {
      const { "@proviso/source": source, ...published } = manifest.exports[name] as Record<string, string>;
      expect(existsSync(join(folder, source ?? "?")), source).toBe(true);
      expect(manifest.publishConfig.exports[name]).toEqual(published);
    }
  });

  test("its index files have named exports only", () => {
    for (const { path, text } of files.filter((file) => /(?:^|\/)index\.ts$/.test(file.path))) {
      expect(text, path).not.toMatch(/^export\s+(?:\*|default\b)/m);
    }
  });
});

/** The folders of evals from the lowest one; its files outside of folders are below all, but for index.ts. */
const evalFolders = [
  "statistics",
  "data",
  "define",
  "scores",
  "judges",
  "report",
  "run",
  "better",
  "node",
  "bullmq",
  "vitest",
];

test("evals: values are imported from folders below only", () => {
  const placeOf = (path: string): number => evalFolders.indexOf(path.split("/")[1] ?? "");
  const files = sources(join(root, "packages/evals")).filter(({ path }) => path !== "src/index.ts");
  const found = files.flatMap(({ path, text }) =>
    imports(text.replaceAll(/^\s*(?:import|export) type\b[^;]*;/gm, ""))
      .filter((name) => name.startsWith("."))
      .map((name) => posix.join(posix.dirname(path), name))
      .filter((to) => placeOf(to) > placeOf(path))
      .map((to) => `${path} imports ${to}`),
  );
  expect(found).toEqual([]);
  expect(evalFolders.toSorted()).toEqual(
    [...new Set(files.map(({ path }) => path.split("/")[1] ?? ""))].filter((name) => !name.includes(".")).toSorted(),
  );
});

test("Node built-ins: none in core, runtime, adapter-kit and estimation", () => {
  const found = packages
    .filter(({ manifest }) => /\/(?:core|runtime|adapter-kit|estimation)$/.test(manifest.name))
    .flatMap(({ folder, manifest }) =>
      sources(folder)
        .filter(({ text }) => imports(text).some(isBuiltin) || /\b(?:process|require|Buffer)\s*[.(]/.test(code(text)))
        .map(({ path }) => `${manifest.name}/${path}`),
    );
  expect(found).toEqual([]);
});

test("SEC-2 what comes from outside is parsed in one place", () => {
  // The simulator is the outside; the suite reads back what it wrote itself.
  const elsewhere = /^@proviso\/simulator\/|^@proviso\/adapter-kit\/src\/conformance\//;
  const found = packages.flatMap(({ folder, manifest }) =>
    sources(folder)
      .filter(({ text }) => /\bJSON\s*\.\s*parse\b/.test(code(text)))
      .map(({ path }) => `${manifest.name}/${path}`),
  );
  expect(found.filter((path) => !elsewhere.test(path))).toEqual(["@proviso/core/src/json.ts"]);
});

/** The text without comments, strings and templates. */
function code(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*$|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`/gm, "");
}

test("changesets name packages of ours and a bump", () => {
  const names = Object.keys(arrows);
  for (const path of globSync(".changeset/*.md", { cwd: root }).filter((file) => !file.endsWith("README.md"))) {
    const [, front = "", text = ""] = readFileSync(join(root, path), "utf8").split(/^---$/m);
    for (const line of front.trim().split("\n")) {
      expect(names, `${path}: ${line}`).toContain(/^"([^"]+)": (?:patch|minor|major)$/.exec(line)?.[1]);
    }
    expect(text.trim(), `${path} tells users what they will observe`).not.toBe("");
  }
});
