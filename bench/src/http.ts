import { fork, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import type { Ask, ContenderName, Measured } from "./http-contenders.ts";
import { median, row, type Row } from "./measure.ts";

const names = ["proviso", "proviso lean", "sdk", "ai"] as const satisfies readonly ContenderName[];

/** One tool turn over loopback HTTP, each contender in a process of its own, one server for all. */
export async function overHttp(quick: boolean): Promise<readonly Row[]> {
  const server = spawn(process.execPath, [join(import.meta.dirname, "http-server.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [port] = (await once(server.stdout, "data")) as [Buffer];
    const baseURL = `http://127.0.0.1:${port.toString().trim()}/v1`;
    const file = contenders();
    const rows: Row[] = [];
    for (const concurrency of [64, 512, 2_000]) {
      rows.push(...rowsOf(concurrency, await measured({ file, baseURL, concurrency, rounds: quick ? 3 : 7 })));
    }
    return rows;
  } finally {
    server.kill();
  }
}

type AllMeasured = Readonly<Record<ContenderName, Measured>>;

/** Medians over rounds in which the contenders take turns. */
async function measured({ rounds, ...run }: Contest & { readonly rounds: number }): Promise<AllMeasured> {
  const { concurrency } = run;
  const clients = names.map((name) => ({ name, process: start(name, run), slices: [] as Measured[] }));
  try {
    for (const { process } of clients) await ask(process, { warmUp: 2_000, evaluations: 1 });
    const slice = { warmUp: concurrency, evaluations: Math.max(1_000, 2 * concurrency) };
    for (let round = 0; round < rounds; round++) {
      for (const { process, slices } of clients) slices.push(await ask(process, slice));
    }
  } finally {
    for (const { process } of clients) process.kill();
  }
  const medianOf = (slices: readonly Measured[], key: keyof Measured): number =>
    median(slices.map((each) => each[key]));
  const all = clients.map(({ name, slices }) => [
    name,
    {
      perSecond: medianOf(slices, "perSecond"),
      cpuMicros: medianOf(slices, "cpuMicros"),
      rssMB: medianOf(slices, "rssMB"),
    },
  ]);
  return Object.fromEntries(all) as AllMeasured;
}

interface Contest {
  readonly file: string;
  readonly baseURL: string;
  readonly concurrency: number;
}

function start(name: ContenderName, { file, baseURL, concurrency }: Contest): ChildProcess {
  return fork(file, [name, baseURL, String(concurrency)], { execArgv: [] });
}

/** As JavaScript, over the built packages: Node's reader of TypeScript takes 20 MB of each contender's memory. */
function contenders(): string {
  const built = join(import.meta.dirname, "..", "dist");
  mkdirSync(built, { recursive: true });
  for (const name of ["http-client", "http-contenders", "proviso", "scenarios", "sdk-loop"]) {
    const source = readFileSync(join(import.meta.dirname, `${name}.ts`), "utf8");
    const imports = stripTypeScriptTypes(source).replaceAll(/("\.\/[\w-]+)\.ts"/g, '$1.js"');
    writeFileSync(join(built, `${name}.js`), imports);
  }
  return join(built, "http-client.js");
}

async function ask(client: ChildProcess, slice: Ask): Promise<Measured> {
  const answering = once(client, "message") as Promise<[Measured]>;
  const ended = once(client, "exit").then(() => {
    throw new Error(`The contender ${client.spawnargs.join(" ")} ended before it answered.`);
  });
  client.send(slice);
  const [answer] = await Promise.race([answering, ended]);
  ended.catch(() => {});
  return answer;
}

function rowsOf(concurrency: number, all: AllMeasured): readonly Row[] {
  const { proviso, "proviso lean": lean, sdk, ai } = all;
  const at = `${concurrency} at once`;
  const detail = (key: keyof Measured, unit: string): string =>
    names.map((name) => `${name} ${all[name][key].toFixed(0)}${unit}`).join(" · ");
  return [
    row(
      `${at}: evaluations/s, proviso over the global fetch / SDK by hand`,
      proviso.perSecond / sdk.perSecond,
      detail("perSecond", "/s"),
      "≥ 1",
    ),
    row(`${at}: evaluations/s, proviso over leanFetch / generateText`, lean.perSecond / ai.perSecond, "", "≥ 2"),
    row(
      `${at}: CPU, proviso over the global fetch / SDK by hand`,
      proviso.cpuMicros / sdk.cpuMicros,
      detail("cpuMicros", " µs"),
    ),
    row(`${at}: CPU, proviso over leanFetch / generateText`, lean.cpuMicros / ai.cpuMicros, ""),
    row(
      `${at}: memory, proviso over leanFetch / generateText`,
      lean.rssMB / ai.rssMB,
      detail("rssMB", " MB"),
      "≤ 0.75",
    ),
  ];
}
