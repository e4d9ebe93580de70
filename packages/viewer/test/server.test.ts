import { DefinitionError, systemClock, type RunReader, type RunRecord, type RunSummary } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { journalRuns, startViewer } from "@proviso/viewer";
import { createServer, connect } from "node:net";
import { networkInterfaces } from "node:os";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { buildPage } from "../../../scripts/page.ts";
import { opened, record, viewed } from "./viewer-support.ts";

beforeAll(() => buildPage());

/** Sends bytes, and returns all that comes back. */
function sent(port: number, text: string, host = "127.0.0.1"): Promise<string> {
  return new Promise((done) => {
    const socket = connect(port, host);
    let got = "";
    socket.setTimeout(5_000, () => socket.destroy());
    socket.on("data", (data: Buffer) => (got += data.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => done(got));
    socket.end(text);
  });
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? 0);

function asking(port: number, path = "/", lines: readonly string[] = [], method = "GET"): string {
  return [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, "Connection: close", ...lines, "", ""].join("\r\n");
}

const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

function expectHeaders(answer: string): void {
  const head = answer.split("\r\n\r\n")[0]?.toLowerCase() ?? "";
  expect(head).toContain(`content-security-policy: ${policy}`.toLowerCase());
  for (const line of [
    "x-content-type-options: nosniff",
    "referrer-policy: no-referrer",
    "cache-control: no-store",
    "cross-origin-opener-policy: same-origin",
    "cross-origin-resource-policy: same-origin",
  ]) {
    expect(head).toContain(line);
  }
  expect(head).not.toContain("access-control");
  expect(head).not.toContain("set-cookie");
}

it("VIEW-1 it listens on 127.0.0.1 alone, and the token has 128 bits and is in no answer", async () => {
  const { viewer } = await viewed();
  expect(viewer.url).toBe(`http://127.0.0.1:${viewer.port}/#t=${viewer.token}`);
  expect(Buffer.from(viewer.token, "base64url")).toHaveLength(16);
  const others = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  for (const { address, internal, family } of others) {
    if (internal || family !== "IPv4") continue;
    expect(await sent(viewer.port, asking(viewer.port), address)).toBe("");
  }
  const token = `Authorization: Bearer ${viewer.token}`;
  for (const path of ["/", "/page.js", "/page.css", "/api/runs", "/api/run/first/rows", "/api/none"]) {
    const answer = await sent(viewer.port, asking(viewer.port, path, [token]));
    expect(answer).not.toContain(viewer.token);
  }
  const again = await viewed();
  expect(again.viewer.token).not.toBe(viewer.token);
});

it("VIEW-2 SEC-3 a target that is no path is answered with 400, and the viewer goes on", async () => {
  const { viewer } = await viewed();
  const targets = [
    "/\\",
    "/\\\\",
    "/\\[",
    "/\\example.com/",
    "/\\127.0.0.1:x/",
    "//",
    "//[",
    "*",
    "http://[",
    "/\\/api/runs",
  ];
  for (const target of targets) {
    expect(statusOf(await sent(viewer.port, asking(viewer.port, target))), target).toBe(400);
  }
  expect(statusOf(await sent(viewer.port, asking(viewer.port, "/api/%")))).toBe(401);
  const token = `Authorization: Bearer ${viewer.token}`;
  expect(statusOf(await sent(viewer.port, asking(viewer.port, "/api/%", [token])))).toBe(400);
  expect(statusOf(await sent(viewer.port, asking(viewer.port, "/")))).toBe(200);
});

it("VIEW-1 every call of the interface needs the token", async () => {
  const { viewer } = await viewed();
  const { port, token } = viewer;
  const paths = [
    "runs",
    "run/first",
    "run/first/rows",
    "run/first/records",
    "compare?a=first&b=second",
    "follow",
    "none",
  ];
  const wrong = token.replace(/^./, (first) => (first === "A" ? "B" : "A"));
  for (const path of paths) {
    for (const lines of [
      [],
      ["Authorization: Bearer "],
      [`Authorization: Bearer ${wrong}`],
      [`Authorization: Bearer ${token}x`],
      [`Authorization: Basic ${token}`],
      [`Authorization: ${token}`],
      [`Cookie: t=${token}`],
    ]) {
      const answer = await sent(port, asking(port, `/api/${path}`, lines));
      expect([path, lines, statusOf(answer)]).toEqual([path, lines, 401]);
      expectHeaders(answer);
    }
  }
  expect(statusOf(await sent(port, asking(port, `/api/runs?t=${token}`)))).toBe(401);
  expect(statusOf(await sent(port, asking(port, "/api/runs", [`Authorization: Bearer ${token}`])))).toBe(200);
});

it.each([
  ["another host", 421, (port: number) => `GET / HTTP/1.1\r\nHost: evil.example:${port}\r\nConnection: close\r\n\r\n`],
  ["another port", 421, () => "GET / HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n\r\n"],
  ["no port", 421, () => "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"],
  [
    "a name that ends with ours",
    421,
    (port: number) => `GET / HTTP/1.1\r\nHost: x.localhost:${port}\r\nConnection: close\r\n\r\n`,
  ],
  [
    "two hosts",
    421,
    (port: number) => `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n`,
  ],
  ["an old version without a host", 421, () => "GET / HTTP/1.0\r\n\r\n"],
  ["no host", 421, () => "GET / HTTP/1.1\r\nConnection: close\r\n\r\n"],
  ["something unknown that is expected", 417, (port: number) => asking(port, "/", ["Expect: nonsense"])],
  [
    "a body that waits",
    405,
    (port: number) => asking(port, "/", ["Expect: 100-continue", "Content-Length: 9"], "POST"),
  ],
  ["a post", 405, (port: number) => asking(port, "/api/runs", ["Content-Length: 0"], "POST")],
  ["a head", 405, (port: number) => asking(port, "/", [], "HEAD")],
  ["an options", 405, (port: number) => asking(port, "/api/runs", ["Origin: http://evil.example"], "OPTIONS")],
  ["a delete", 405, (port: number) => asking(port, "/api/run/first", [], "DELETE")],
  ["another site", 403, (port: number) => asking(port, "/", ["Sec-Fetch-Site: cross-site"])],
  ["a site beside", 403, (port: number) => asking(port, "/page.js", ["Sec-Fetch-Site: same-site"])],
  ["a whole address", 400, (port: number) => asking(port, `http://127.0.0.1:${port}/`)],
  ["two slashes", 400, (port: number) => asking(port, "//evil.example/")],
  ["a file elsewhere", 404, (port: number) => asking(port, "/../package.json")],
  ["a file elsewhere, escaped", 404, (port: number) => asking(port, "/%2e%2e/%2e%2e/package.json")],
] as const)("VIEW-2 VIEW-3 a request for %s is refused", async (_what, status, request) => {
  const { viewer } = await viewed();
  const answer = await sent(viewer.port, request(viewer.port));
  expect(statusOf(answer)).toBe(status);
  expectHeaders(answer);
});

it("VIEW-2 a request from the address bar, from the page itself and from no browser is answered, on both names", async () => {
  const { viewer } = await viewed();
  const { port } = viewer;
  for (const lines of [["Sec-Fetch-Site: none"], ["Sec-Fetch-Site: same-origin"], []]) {
    expect([lines, statusOf(await sent(port, asking(port, "/", lines)))]).toEqual([lines, 200]);
  }
  const request = `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`;
  expect(statusOf(await sent(port, request))).toBe(200);
});

it("VIEW-2 what is no request, and what would become another protocol, ends without an answer of ours", async () => {
  const { viewer } = await viewed();
  const { port, token } = viewer;
  for (const text of [
    "nonsense\r\n\r\n",
    `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX: ${"x".repeat(100_000)}\r\n\r\n`,
    asking(port, "/", ["Upgrade: websocket", "Connection: Upgrade"]),
    `CONNECT evil.example:80 HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`,
    `GET / HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nxxx`,
  ]) {
    expect([0, 200]).toContain(statusOf(await sent(port, text)));
  }
  // It still serves.
  expect(statusOf(await sent(port, asking(port, "/api/runs", [`Authorization: Bearer ${token}`])))).toBe(200);
});

it("VIEW-3 every answer has the headers", async () => {
  const { viewer } = await viewed();
  const token = `Authorization: Bearer ${viewer.token}`;
  for (const [path, status] of [
    ["/", 200],
    ["/page.js", 200],
    ["/page.css", 200],
    ["/api/runs", 200],
    ["/api/evals", 200],
    ["/api/eval/eval%201", 200],
    ["/api/eval/none", 404],
    ["/api/run/none", 404],
    ["/api/run/first/rows?from=x", 400],
    ["/api/run/%E0%A4%A", 400],
    ["/api/runs?limit=9999", 400],
    ["/api/run/first/state", 400],
    ["/elsewhere", 404],
  ] as const) {
    const answer = await sent(viewer.port, asking(viewer.port, path, [token]));
    expect([path, statusOf(answer)]).toEqual([path, status]);
    expectHeaders(answer);
  }
});

it("VIEW-9 what another writes is sent to the page within 500 milliseconds", async () => {
  const { viewer, journal } = await viewed();
  const authorization = `Bearer ${viewer.token}`;
  const at = `http://127.0.0.1:${viewer.port}/api/`;
  const first = (await (await fetch(`${at}run/first/rows`, { headers: { authorization } })).json()) as {
    total: number;
    last: number;
  };
  expect(first.total).toBeGreaterThan(8);
  const stream = await fetch(`${at}follow`, { headers: { authorization } });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  // A machine that is busy holds some of them up, and the timer of the same event loop as well. What was written before the
  // viewer listens is not told.
  let isInTime = false;
  let reading = reader.read();
  let told = "";
  for (let n = 0; n < 20 && !isInTime; n++) {
    await record(journal, `new-${n}`);
    const waiting = new AbortController();
    const late = systemClock.sleep(500, waiting.signal).catch(() => {});
    for (let part = await Promise.race([reading, late]); part && !isInTime;) {
      told += part.value ?? "";
      isInTime = told.includes(`"new-${n}"`);
      reading = reader.read();
      if (!isInTime) part = await Promise.race([reading, late]);
    }
    waiting.abort();
  }
  expect(isInTime).toBe(true);
  await reader.cancel();
});

it("VIEW-9 a page that shows a run which is removed receives that, and connects again for another one of its id", async () => {
  const { viewer, journal } = await viewed();
  const headers = { authorization: `Bearer ${viewer.token}` };
  const at = `http://127.0.0.1:${viewer.port}/api/`;
  const shown = (await (await fetch(`${at}run/first/rows`, { headers })).json()) as { last: number; begunBy: string };
  const stream = await fetch(`${at}follow?run=first&after=${shown.last - 1}`, { headers });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  // It follows: the last row is there.
  for (let rows = ""; !rows.includes("\n\n");) rows += (await reader.read()).value ?? "";
  await journal.remove("first");
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value;
  const told = JSON.parse(text.slice(text.indexOf("data: ") + 6)) as object;
  expect(told).toMatchObject({ rows: [], total: 0, last: -1 });
  expect(told).not.toHaveProperty("begunBy");
  await record(journal, "first");
  const again = (await (await fetch(`${at}run/first/rows`, { headers })).json()) as { total: number; begunBy: string };
  expect(again.begunBy).not.toBe(shown.begunBy);
  expect(again.total).toBeGreaterThan(8);
});

it("VIEW-9 of all pages that follow a run one at a time asks for its summary, however fast records come", async () => {
  const { reader: of, journal } = await viewed();
  const asked = { now: 0, most: 0, count: 0 };
  const counting: RunReader = {
    ...of,
    async summary(id) {
      asked.count += 1;
      asked.most = Math.max(asked.most, (asked.now += 1));
      await new Promise((done) => setTimeout(done, 200));
      asked.now -= 1;
      return of.summary(id);
    },
  };
  const viewer = await opened(counting);
  const headers = { authorization: `Bearer ${viewer.token}` };
  const pages = ["follow?run=live&after=-1", "follow?run=live&after=-1", "follow", "follow"].map(async (path) => {
    const stream = await fetch(`http://127.0.0.1:${viewer.port}/api/${path}`, { headers });
    return stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  });
  const readers = await Promise.all(pages);
  await record(journal, "live");
  // What was recorded before a follower of all runs looked for the first time is no news of it.
  const recording = setInterval(() => void record(journal, `later ${(later += 1)}`), 300);
  let later = 0;
  onTestFinished(() => clearInterval(recording));
  for (const reader of readers) {
    let text = "";
    while (!text.includes('"status":"executed"')) text += (await reader.read()).value ?? "";
    await reader.cancel();
  }
  expect(asked.most).toBe(1);
  expect(asked.count).toBeGreaterThan(0);
}, 300_000);

it("VIEW-9 what a run writes faster than messages are sent does not hold up what the list shows of another one", async () => {
  const { reader: of } = await viewed();
  const records: RunRecord[] = [];
  for await (const each of of.records("first")) records.push(each);
  let messages = 0;
  const clock = {
    now: () => 0,
    // The time of a message passes when all that is there has come; a stream is never silent for long.
    sleep: (ms: number, signal?: AbortSignal) =>
      new Promise<void>((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason as Error));
        if (ms > 1_000) return;
        messages += 1;
        setImmediate(resolve);
      }),
  };
  const writing: RunReader = {
    ...of,
    async *follow({ signal }) {
      for (let n = 0; n < 2_000; n++) yield { ...(records[0] as RunRecord), n };
      yield { ...(records[0] as RunRecord), runId: "second" };
      await new Promise((done) => signal.addEventListener("abort", done));
    },
  };
  const viewer = await opened(writing, { clock });
  const headers = { authorization: `Bearer ${viewer.token}` };
  const stream = await fetch(`http://127.0.0.1:${viewer.port}/api/follow`, { headers });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  while (!received.includes('"runId":"second"')) received += (await reader.read()).value ?? "";
  expect(messages).toBe(1);
  await reader.cancel();
});

it("VIEW-9 a closed viewer ends its streams, and closing again does nothing", async () => {
  const { viewer } = await viewed();
  const headers = { authorization: `Bearer ${viewer.token}` };
  const stream = await fetch(`http://127.0.0.1:${viewer.port}/api/follow?run=first&after=-1`, { headers });
  const reading = stream.body!.getReader();
  await viewer.close();
  await viewer.close();
  await expect(
    (async () => {
      while (!(await reading.read()).done);
    })().catch(() => "ended"),
  ).resolves.toSatisfy((value: unknown) => value === undefined || value === "ended");
  expect(await sent(viewer.port, asking(viewer.port))).toBe("");
});

it("VIEW-5 a store that fails is a sentence, and the viewer goes on", async () => {
  const broken: RunReader = {
    list: async () => Promise.reject(new Error("The disk is gone.")),
    summary: async () => undefined,
    async *records() {
      yield* [];
      throw new Error("The disk is gone.");
    },
    async *follow() {
      yield* [];
      throw new Error("The disk is gone.");
    },
  };
  const viewer = await opened(broken);
  const token = `Authorization: Bearer ${viewer.token}`;
  const answer = await sent(viewer.port, asking(viewer.port, "/api/runs", [token]));
  expect([statusOf(answer), answer.endsWith("The disk is gone.")]).toEqual([500, true]);
  expect(statusOf(await sent(viewer.port, asking(viewer.port, "/api/run/x/rows", [token])))).toBe(500);
  await sent(viewer.port, asking(viewer.port, "/api/follow", [token]));
  expect(statusOf(await sent(viewer.port, asking(viewer.port, "/")))).toBe(200);
});

it("VIEW-1 a port that is taken, out of range, and runs that are no reader are DefinitionErrors", async () => {
  const runs = journalRuns(memoryJournal());
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => taken.once("listening", done));
  const { port } = taken.address() as { port: number };
  await expect(startViewer({ runs, port })).rejects.toThrow(DefinitionError);
  taken.close();
  for (const wrong of [-1, 65_536, 1.5, "80"]) {
    await expect(startViewer({ runs, port: wrong as number })).rejects.toThrow(/The port has to be/);
  }
  await expect(startViewer({ runs: {} as RunReader })).rejects.toThrow(/no reader of runs/);
  await expect(startViewer({ runs, evals: {} as never })).rejects.toThrow(/no reader of evals/);
  await expect(startViewer({ runs, prot: 1 } as never)).rejects.toThrow(DefinitionError);
});

it("VIEW-9 any store can be shown: one whose follower has nothing to say keeps the page connected", async () => {
  const inMemory = (runs: readonly RunSummary[], records: readonly RunRecord[]): RunReader => ({
    list: async ({ text = "" } = {}) => ({
      runs: runs.filter((run) => run.promptName.includes(text)),
      cursor: undefined,
    }),
    summary: async (runId) => runs.find((run) => run.runId === runId),
    async *records(runId, { after = -1 } = {}) {
      yield* records.filter((record) => record.runId === runId && record.n > after);
    },
    async *follow() {},
  });
  const viewer = await opened(inMemory([], []));
  const headers = { authorization: `Bearer ${viewer.token}` };
  const stream = await fetch(`http://127.0.0.1:${viewer.port}/api/follow`, { headers });
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  // It begins without runs, and lives.
  let received = "";
  while (!received.endsWith(": alive\n\n")) received += (await reader.read()).value ?? "";
  expect(received).toBe('data: {"runs":[]}\n\n: alive\n\n');
  const more = reader.read().then(() => "more");
  expect(await Promise.race([more, new Promise((done) => setTimeout(() => done("quiet"), 300))])).toBe("quiet");
  await reader.cancel();
});
