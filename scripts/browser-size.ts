/**
 * `pnpm size` prints what the packages weigh in a browser, from what the build has made; `pnpm size --modules` adds the
 * bytes of each source file before minifying. `pnpm pack:check` fails where a size is over its bound.
 *
 * What is counted: a bundle of one import, minified and gzipped (level 9), in bytes; 1 KB is 1,024. Of a package's own
 * size, everything that its entry "." exports is imported, and other packages stay outside: its dependencies, its peers
 * and, for the runtime, core. What a program imports of it is smaller, so one import alone is counted, too. What is only
 * loaded where a program asks for it, by an `import()` of our own, is counted apart.
 */
import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { rolldown, type OutputChunk } from "rolldown";
import { root } from "./packages.ts";

export interface BrowserBundle {
  /** Minified, in bytes. */
  readonly minified: number;
  /** Minified and gzipped, in bytes. */
  readonly gzipped: number;
  /** What is loaded later, where a program asks for it; minified and gzipped, in bytes. */
  readonly later: number;
  /** Bytes of each module before it is minified, by its file. */
  readonly modules: ReadonlyMap<string, number>;
}

export interface SizeBound {
  /** A package's folder in packages/. */
  readonly id: string;
  /** What is imported of its entry ".": "*" is everything. */
  readonly names: string;
  /** Bytes, gzipped. */
  readonly most: number;
  /** Bytes, gzipped, of what is loaded later. Default 0. */
  readonly later?: number;
}

const kilobyte = 1024;

export const sizeBounds: readonly SizeBound[] = [
  // 6 KB of it check values by JSON Schema: `defineTool` takes that as plain data, which brings no code of its own.
  // 0.2 KB of it refuse overrides that drop the placeholder of a file (FILE-15).
  // 0.3 KB of it say where the sections of a rendered text are (OBS-7). 0.3 KB of it are the errors of runs and journals.
  // 0.4 KB of it look for checks of a schema's own that are asynchronous, which a library would begin and drop (TOOL-2).
  // 0.6 KB of it check the lists of definitions: a policy that is none would be ignored, and the call would pass (PRM-15).
  // 0.7 KB of it refuse in words what is of another type than a definition takes (PRM-16), check tools that are written in
  // a section, and know the names of options that other frameworks use (ERR-4); `toolOk` has the last of these, too.
  // 0.1 KB of it say of a usage that its cost is known only in part (LIM-14).
  // 0.1 KB of it count spending without a limit (LIM-4), and refuse what is no listener.
  // 0.4 KB of it read refusals of odd schemas as far as they go (TOOL-2), name what nests too deep (SES-5), and say how an
  // object is made of what a tool takes.
  // 0.2 KB of it test the conditions of patterns (TOOL-18), and 0.1 KB look for unions in unions (OUT-4).
  // 0.1 KB of it tell lists of a union apart by their lengths, and write into descriptions what a service does not take (OUT-4).
  { id: "core", names: "*", most: 32.7 * kilobyte },
  // Later: long histories, for an evaluation with `context`, what reads files, and what drives agents (1.7 KB). That each
  // is a file of its own costs a kilobyte of names.
  // 2.7 KB of it are conversations in a store. 1.3 KB of it check observers, and make what events say of prompts, limits
  // and answers, for listeners too; what calls observers is loaded with the first evaluation that has some.
  // 0.7 KB of it make and apply patches of states, for what reads recorded runs.
  // 1.2 KB of it ask the record of a run, which brings its own code, and make the key of a call.
  // 0.5 KB of it compare trees of files, for what observers read of a call (OBS-9).
  // 0.2 KB of it, and 0.8 KB of what is loaded later, let a record say how an evaluation began again (RTE-14).
  // 0.5 KB of it bear what stores, trackers and paces of the application throw, and know how programs escape secrets.
  // 0.5 KB of it go on with an answer that paused, say why members of a chain are passed over, and what evaluations record.
  // 0.3 KB of it keep what ended beside a stopped or suspended call, and count once what is sent beside the messages.
  // 0.5 KB of it ask by which lock a handle is used (RES-9), and show texts again when a secret becomes known (SEC-1).
  // 0.9 KB of it end the evaluations that a transaction's body has begun (TX-9), and refuse what begins in its code later.
  // 0.5 KB of it cut texts beside secrets (SEC-1) and count what has no price (LIM-14); 0.1 KB of what is loaded later lets
  // an observer end a step without a promise.
  // 0.6 KB of it, and 0.3 KB of what is loaded later, hide credentials in addresses that errors quote (PRO-8), see waits
  // for the file of a journal (TX-12), end the call of an agent that failed (LIM-3) and refuse a prompt that asks nothing.
  // 0.2 KB of it know what hosts say of a broken connection, and let each request wait in a pace by its own timer.
  // 0.2 KB of it find out who waits for whom without a look at the whole line (TX-12).
  // 0.9 KB of it give each model of a chain its part of a budget (LIM-10); 0.9 KB find secrets behind escapes (SEC-1); 0.2 KB
  // leave a journal that hangs behind (LIM-2).
  // 0.2 KB of it know which request waits inside of another one's turn at a pace (PAC-6); 0.2 KB give each prompt of a
  // batch a run (BAT-3); 0.4 KB answer again what a budget cut short inside a call (RPL-3), and keep the texts of long
  // histories where files are (CTX-12).
  // 0.3 KB let a request that waited for room go by the pace of then (PAC-4), and give back the locks of a call that ends the
  // evaluation beside others (TX-12).
  // 0.1 KB find the smallest window of a chain (CTX-3), and refuse options of a batch at once (BAT-3).
  // 0.5 KB let attempts hold what their calls change, and no more (RTE-8). 0.4 KB hold halves of surrogate pairs back
  // (STR-1), find secrets behind a backslash (SEC-1), and begin a batch's prompts while its reader works (BAT-1).
  { id: "runtime", names: "*", most: 81.9 * kilobyte, later: 13.8 * kilobyte },
  // A bundler drops what is not used. A call at the top of a module, which it cannot drop, keeps all that it reaches.
  { id: "core", names: "{ systemClock }", most: 0.5 * kilobyte },
  { id: "core", names: "{ toolOk }", most: 2.6 * kilobyte },
  { id: "runtime", names: "{ append }", most: 1.2 * kilobyte },
];

/** A module that exports what is imported of a package: as it was built, or of its sources. */
export function importOf({ id, names }: Pick<SizeBound, "id" | "names">, from: "dist" | "src"): string {
  return `export ${names} from ${JSON.stringify(join(root, "packages", id, from, from === "src" ? "index.ts" : "index.js"))};`;
}

/** Bundles one module for a browser, without the packages that it imports. */
export async function browserBundle(source: string): Promise<BrowserBundle> {
  const name = "\0imported";
  const bundled = await rolldown({
    input: name,
    external: (id) => !id.startsWith(".") && !id.startsWith("/") && !id.startsWith("\0"),
    platform: "browser",
    // The sources have syntax that browsers do not have yet.
    transform: { target: "es2024" },
    plugins: [
      { name: "source", resolveId: (id) => (id === name ? id : null), load: (id) => (id === name ? source : null) },
    ],
  });
  const { output } = await bundled.generate({ format: "esm", minify: true, comments: false });
  await bundled.close();
  const chunks = output.filter((one): one is OutputChunk => one.type === "chunk");
  const first = loadedWith(
    chunks.filter(({ isEntry }) => isEntry),
    chunks,
  );
  const code = codeOf(chunks.filter((chunk) => first.has(chunk)));
  const later = codeOf(chunks.filter((chunk) => !first.has(chunk)));
  return {
    minified: Buffer.byteLength(code),
    gzipped: gzipSync(code, { level: 9 }).length,
    later: later === "" ? 0 : gzipSync(later, { level: 9 }).length,
    modules: new Map(
      chunks.flatMap((chunk) =>
        Object.entries(chunk.modules).map(([file, { renderedLength }]) => [file, renderedLength]),
      ),
    ),
  };
}

/** The chunks, and those that they import at once. */
function loadedWith(entries: readonly OutputChunk[], all: readonly OutputChunk[]): ReadonlySet<OutputChunk> {
  const loaded = new Set(entries);
  for (const { imports } of loaded) {
    for (const chunk of all) if (imports.includes(chunk.fileName)) loaded.add(chunk);
  }
  return loaded;
}

function codeOf(chunks: readonly OutputChunk[]): string {
  return chunks.map(({ code }) => code).join("");
}

/** What is over its bound, each as a sentence. */
export async function sizeFaults(
  from: "dist" | "src",
  bounds: readonly SizeBound[] = sizeBounds,
): Promise<readonly string[]> {
  const sizes = await Promise.all(bounds.map((bound) => browserBundle(importOf(bound, from))));
  return bounds.flatMap(({ id, names, most, later: mostLater = 0 }, at) => {
    const { gzipped, later } = sizes[at]!;
    const over = (what: string, bytes: number, allowed: number): readonly string[] =>
      bytes <= allowed ? [] : [`${what} has ${bytes} bytes, minified and gzipped: at most ${allowed} are allowed`];
    const what = `${names} of ${id}`;
    return [...over(what, gzipped, most), ...over(`What ${what} loads later`, later, mostLater)];
  });
}

async function main(listsModules: boolean): Promise<void> {
  const kilobytes = (bytes: number): string => (bytes / kilobyte).toFixed(1);
  for (const bound of sizeBounds) {
    const { minified, gzipped, later } = await browserBundle(importOf(bound, "dist"));
    const more = later === 0 ? "" : `, later ${kilobytes(later)} KB`;
    const sizes = `minified ${kilobytes(minified)} KB, gzipped ${kilobytes(gzipped)} KB${more}`;
    console.log(`${bound.names} of ${bound.id}: ${sizes} (at most ${kilobytes(bound.most)} KB)`);
    if (!listsModules) continue;
    const { modules } = await browserBundle(importOf(bound, "src"));
    for (const [file, bytes] of [...modules].toSorted(([, a], [, b]) => b - a)) {
      if (bytes > 0) console.log(`${String(bytes).padStart(8)} ${relative(root, file)}`);
    }
  }
}

if (process.argv[1] === import.meta.filename) await main(process.argv.includes("--modules"));
