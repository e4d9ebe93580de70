/** A program that needs nothing of Node, from the installed packages: in processes, and bundled in workers and browsers. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { rolldown } from "rolldown";
import { startChromium } from "../chromium.ts";
import { startSimulator } from "../../packages/simulator/src/index.ts";
import { anywhere } from "./anywhere.ts";
import type { Runtime } from "./runtimes.ts";
import { output } from "./steps.ts";

/** What `anywhere.mjs` comes to. */
const expected = {
  transaction: "good",
  stream: "Hello, Ada.",
  deadline: "deadline",
  clock: "late",
  journal: "done done",
  wire: "Hello, Ada. true",
  broken: "Hello, Ada. 1",
};

/** Requests of a worker that come at once, and wait for each other. */
const requests = 12;

/** Bundles the program with every entry, from the packages in this folder. */
export async function bundleForAnywhere(here: string): Promise<string> {
  const all = anywhere.map((entry, at) => `export * as entry${at} from ${JSON.stringify(entry)};`);
  const input = join(here, "anywhere-entry.mjs");
  writeFileSync(input, [...all, 'export { run, worker as default } from "./anywhere.mjs";'].join("\n"));
  // Optional peers that are not installed are loaded where they are used, and stay imports here.
  const bundle = await rolldown({ input, platform: "browser", transform: { target: "es2024" }, onLog() {} });
  const generated = await bundle.generate({ format: "esm", codeSplitting: false });
  await bundle.close();
  return generated.output[0].code;
}

/** Runs the program in a worker, as one that serves many requests. @throws where anything comes to something else. */
export async function runInWorker(
  here: string,
  code: string,
  { command }: Runtime,
  flags: readonly string[],
): Promise<void> {
  await using wire = await startWire();
  writeFileSync(join(here, "worker.js"), code);
  const config = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-04-01",
  compatibilityFlags = ${JSON.stringify(flags)},
);
`;
  writeFileSync(join(here, "worker.capnp"), config);
  // It writes the port to descriptor 3.
  const child = spawn(command, ["serve", "--control-fd=3", "worker.capnp"], {
    cwd: here,
    stdio: ["ignore", "inherit", "pipe", "pipe"],
  });
  try {
    const address = `http://127.0.0.1:${await portOf(child)}`;
    const results = await (await fetch(`${address}/run?wire=${encodeURIComponent(wire.baseURL)}`)).text();
    check(JSON.parse(results));
    for (const path of ["paced", "session"]) {
      const answers = await Promise.all(
        Array.from({ length: requests }, async () => (await fetch(`${address}/${path}`)).text()),
      );
      if (answers.some((answer) => answer !== "yes")) throw new Error(`${path}: ${answers.join(", ")}`);
    }
  } finally {
    // Where it could not begin, it has ended already.
    if (child.kill()) await once(child, "exit");
  }
}

async function portOf(child: ReturnType<typeof spawn>): Promise<number> {
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (part: string) => (errors += part));
  const control = child.stdio[3] as NodeJS.ReadableStream;
  let written = "";
  for await (const part of control) {
    written += String(part);
    for (const line of written.split("\n").slice(0, -1)) {
      const { event, port } = JSON.parse(line) as { readonly event: string; readonly port?: number };
      if (event === "listen" && port !== undefined) return port;
    }
  }
  throw new Error(errors);
}

/** Runs the program as it is. @throws where anything comes to something else. */
export async function runInProcess(here: string, { command, args }: Runtime): Promise<void> {
  await using wire = await startWire();
  const program = `import { run } from "./anywhere.mjs"; console.log(JSON.stringify(await run("${wire.baseURL}")));`;
  writeFileSync(join(here, "anywhere-process.mjs"), program);
  check(JSON.parse(await output(command, [...args, "anywhere-process.mjs"], here)));
}

/** Runs the program on a page. @throws where anything comes to something else. */
export async function runInBrowser(code: string, chromium: string): Promise<void> {
  await using wire = await startWire(code);
  const browser = await startChromium(chromium);
  try {
    const page = await browser.newPage();
    await page.goto(wire.origin);
    // The text is run in the page.
    check(await page.evaluate(`import("/worker.js").then(({ run }) => run(${JSON.stringify(`${wire.origin}/v1`)}))`));
  } finally {
    await browser.close();
  }
}

function check(results: unknown): void {
  if (!isDeepStrictEqual(results, expected)) throw new Error(JSON.stringify(results, undefined, 2));
}

/** A simulator of the service, and a page of the same origin, whose scripts reach it. */
async function startWire(code = ""): Promise<AsyncDisposable & { readonly baseURL: string; readonly origin: string }> {
  const { baseURL, close } = await startSimulator({
    rules: [
      ({ messages }) => ({
        text: "Hello, Ada.",
        ...(JSON.stringify(messages).includes("Break once.") ? { fault: "reset_in_body" as const } : undefined),
      }),
    ],
  });
  const server = createServer((request, response) => {
    if (request.url === "/worker.js") response.setHeader("content-type", "text/javascript").end(code);
    else if (request.url === "/") response.setHeader("content-type", "text/html").end("<!doctype html><p>");
    else void passOn(request, response, baseURL).catch(() => response.destroy());
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    baseURL,
    origin: originOf(server),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await close();
    },
  };
}

async function passOn(request: IncomingMessage, response: ServerResponse, baseURL: string): Promise<void> {
  const { authorization = "", "content-type": type = "" } = request.headers;
  const answer = await fetch(new URL(request.url ?? "/", baseURL), {
    method: "POST",
    headers: { authorization, "content-type": type },
    body: await text(request),
  });
  // A browser sends a request again by itself where a connection breaks before the headers.
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" }).flushHeaders();
  response.end(await answer.text());
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
