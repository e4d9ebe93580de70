import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { promisify } from "node:util";
import { row, type Row } from "./measure.ts";

interface Measured {
  readonly perSecond: number;
  readonly rssMB: number;
}
const contenders = ["proviso", "proviso lean", "sdk", "ai"] as const;
const flags = ["--conditions=@proviso/source", "--disable-warning=ExperimentalWarning"];

/** One tool turn over loopback HTTP, each contender in a process of its own, one server for all. */
export async function overHttp(quick: boolean): Promise<readonly Row[]> {
  const server = spawn(process.execPath, [join(import.meta.dirname, "http-server.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  try {
    const [port] = (await once(server.stdout, "data")) as [Buffer];
    const baseURL = `http://127.0.0.1:${port.toString().trim()}/v1`;
    const rows: Row[] = [];
    for (const concurrency of quick ? [64, 512] : [1, 64, 512, 2_000]) {
      const measured = {} as Record<(typeof contenders)[number], Measured>;
      for (const name of contenders) measured[name] = await measure(name, baseURL, concurrency, quick ? 2 : 4);
      const bounded = concurrency >= 512;
      const detail = contenders.map(
        (name) => `${name} ${measured[name].perSecond.toFixed(0)}/s, ${measured[name].rssMB.toFixed(0)} MB`,
      );
      const { proviso, ai } = measured;
      const lean = measured["proviso lean"];
      const at = `${concurrency} at once`;
      rows.push(
        row(
          `${at}: evaluations/s, proviso over leanFetch / generateText`,
          lean.perSecond / ai.perSecond,
          detail.join(" · "),
          bounded ? "≥ 1.3" : undefined,
        ),
        row(`${at}: evaluations/s, proviso over the global fetch / generateText`, proviso.perSecond / ai.perSecond, ""),
        row(
          `${at}: memory, proviso over leanFetch / generateText`,
          lean.rssMB / ai.rssMB,
          "",
          bounded ? "≤ 0.8" : undefined,
        ),
      );
    }
    return rows;
  } finally {
    server.kill();
  }
}

async function measure(name: string, baseURL: string, concurrency: number, seconds: number): Promise<Measured> {
  const file = join(import.meta.dirname, "http-client.ts");
  const { stdout } = await promisify(execFile)(process.execPath, [
    ...flags,
    file,
    name,
    baseURL,
    String(concurrency),
    String(seconds),
  ]);
  return JSON.parse(stdout) as Measured;
}
