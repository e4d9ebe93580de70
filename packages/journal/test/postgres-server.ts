import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { Pool } from "pg";

/** A Postgres server of its own, in a folder of its own, that listens on a socket alone. */
export interface PostgresServer extends AsyncDisposable {
  /** The folder of its socket: `host` for a pool. */
  readonly host: string;
  pool(max?: number): Pool;
}

// Debian puts its programs beside PATH, in a folder for each version.
const debian = globSync("/usr/lib/postgresql/*/bin").toSorted().toReversed();
const folders = [...(process.env["PATH"] ?? "").split(delimiter), ...debian];
const program = (name: string): string | undefined =>
  folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
const [initdb, postgres] = [program("initdb"), program("postgres")];

/** Why no server can be started here. undefined: one can. */
export const noServer: string | undefined =
  initdb === undefined || postgres === undefined
    ? "skipped: initdb and postgres are not on PATH (apt-get install postgresql)"
    : undefined;

/** Starts a server. It ends with this process, whatever ends that. */
export async function startPostgres(): Promise<PostgresServer> {
  const folder = await mkdtemp(join(tmpdir(), "proviso-postgres-"));
  // Postgres refuses to be run by root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  if (user.uid !== undefined) await chown(folder, user.uid, user.gid);
  const data = join(folder, "data");
  const begin = ["-D", data, "-A", "trust", "-U", "proviso", "--no-sync", "-E", "UTF8", "--locale=C"];
  await promisify(execFile)(initdb ?? "", begin, { ...user, cwd: folder });
  const server = [postgres ?? "", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"];
  // The shell ends the server when its stdin does, which is when this process ends.
  const guard = '"$@" >/dev/null 2>&1 & server=$!; cat >/dev/null; kill -INT $server; wait $server';
  const child = spawn("sh", ["-c", guard, "sh", ...server], {
    ...user,
    cwd: folder,
    stdio: ["pipe", "ignore", "ignore"],
  });
  const ended = once(child, "close");
  const pools: Pool[] = [];
  const pool = (max = 8): Pool => {
    const made = new Pool({ host: folder, user: "proviso", database: "postgres", max });
    // A connection that the server ended while it was idle.
    made.on("error", () => {});
    pools.push(made);
    return made;
  };
  const close = async (): Promise<void> => {
    await Promise.all(pools.map((each) => each.end()));
    child.stdin.end();
    await ended;
    await rm(folder, { recursive: true, force: true });
  };
  const first = pool(1);
  for (let tries = 0; ; tries++) {
    try {
      await first.query("SELECT 1");
      break;
    } catch (error) {
      if (tries > 300) {
        await close();
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  return { host: folder, pool, [Symbol.asyncDispose]: close };
}
