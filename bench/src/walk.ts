// Counts the files that one tool call over HTTP goes through, and how often it moves from one file to another.
// `node --conditions=@proviso/source bench/src/walk.ts`; with --list, every file and every move is printed.
import { existsSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "rolldown/utils";

declare global {
  var entered: ((file: string, name: string) => void) | undefined;
}

/** Helpers that are called from everywhere and call nothing of ours. They are counted apart. */
const helpers = [
  "adapter-kit/body",
  "core/json",
  "core/limits/clock",
  "core/limits/usage",
  "core/odd-in-json",
  "core/option-names",
  "core/standard-schema",
  "core/state/frozen",
  "core/values",
  "runtime/environment",
  "runtime/failures",
  "runtime/secrets",
  "runtime/secrets/structure",
  "runtime/tokens",
  "runtime/well-formed",
];
for (const name of helpers) {
  const file = new URL(`../../packages/${name.replace("/", "/src/")}.ts`, import.meta.url);
  if (!existsSync(file)) throw new Error(`${name} is gone: say which helper has what it had.`);
}
const leaves = new Set(helpers.map((name) => `${name}.ts`));

const source = /\/packages\/([a-z-]+)\/src\/(.+\.ts)$/;

/** The source with a call at the start of the body of each named function. */
function instrumented(file: string, text: string): string {
  const { program } = parseSync(file, text);
  const inserts: { readonly at: number; readonly text: string }[] = [];
  const enter = (name: string | undefined, body: { start: number; end: number; type: string } | null | undefined) => {
    if (name === undefined || body === null || body === undefined) return;
    const call = `globalThis.entered?.(${JSON.stringify(file)}, ${JSON.stringify(name)})`;
    if (body.type === "BlockStatement" || body.type === "FunctionBody")
      inserts.push({ at: body.start + 1, text: `${call};` });
    else inserts.push({ at: body.start, text: `(${call}, ` }, { at: body.end, text: ")" });
  };
  const keyOf = (key: { type: string; name?: unknown }) => (typeof key.name === "string" ? key.name : undefined);
  const isFunction = (node: { type: string } | null | undefined): node is { type: string; body: never } =>
    node?.type === "ArrowFunctionExpression" || node?.type === "FunctionExpression";
  new Visitor({
    FunctionDeclaration: (node) => enter(node.id?.name, node.body),
    VariableDeclarator: (node) => {
      if (node.id.type === "Identifier" && isFunction(node.init)) enter(node.id.name, node.init.body);
    },
    Property: (node) => {
      if (isFunction(node.value)) enter(keyOf(node.key as never), node.value.body);
    },
    MethodDefinition: (node) => {
      // A constructor may have to call another first.
      if (node.kind !== "constructor") enter(keyOf(node.key as never), node.value.body as never);
    },
  }).visit(program);
  let result = text;
  for (const { at, text: added } of inserts.toSorted((one, other) => other.at - one.at)) {
    result = result.slice(0, at) + added + result.slice(at);
  }
  return result;
}

registerHooks({
  load(url, context, next) {
    if (!source.test(url)) return next(url, context);
    const file = (source.exec(url) as RegExpExecArray).slice(1).join("/");
    if (file.startsWith("simulator/")) return next(url, context);
    return {
      format: "module-typescript",
      source: instrumented(file, readFileSync(fileURLToPath(url), "utf8")),
      shortCircuit: true,
    };
  },
});

interface Walk {
  readonly calls: number;
  readonly functions: number;
  readonly files: readonly string[];
  readonly moves: readonly string[];
}

function walked(trace: readonly (readonly [file: string, name: string])[]): Walk {
  const moves = trace.flatMap(([file], index) => {
    const before = trace[index - 1]?.[0];
    return before === undefined || before === file ? [] : [`${before} → ${file}`];
  });
  return {
    calls: trace.length,
    functions: new Set(trace.map((call) => call.join(" "))).size,
    files: [...new Set(trace.map(([file]) => file))],
    moves,
  };
}

const { weatherOverHttp } = await import("./walk-program.ts");
const trace: [file: string, name: string][] = [];
await weatherOverHttp({
  begin: () => (globalThis.entered = (file, name) => void trace.push([file, name])),
  end: () => (globalThis.entered = undefined),
});

const shown = ({ calls, functions, files, moves }: Walk): string =>
  `${calls} calls of ${functions} functions in ${files.length} files, ${moves.length} moves between files`;
const all = walked(trace);
const ours = walked(trace.filter(([file]) => !leaves.has(file)));
console.log(`One tool call over HTTP: ${shown(all)}.`);
console.log(`Without leaf helpers:    ${shown(ours)}.`);
if (process.argv.includes("--list")) {
  const counted = Map.groupBy(ours.moves, (move) => move);
  for (const file of all.files) {
    const calls = trace.filter(([at]) => at === file).length;
    console.log(`${String(calls).padStart(5)} ${leaves.has(file) ? "leaf " : "     "}${file}`);
  }
  for (const [move, times] of [...counted].toSorted((one, other) => other[1].length - one[1].length)) {
    console.log(`${String(times.length).padStart(5)} ${move}`);
  }
}
