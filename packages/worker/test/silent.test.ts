// A Redis that takes connections, and hangs before a queue, a worker or a pace could use it.
import { memoryJournal } from "@proviso/journal";
import { bullmqQueue, redisPace, serveRuns } from "@proviso/worker/bullmq";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { noServer, startRedis } from "./redis-server.ts";
import { counting } from "./support.ts";

const kind = counting(() => {});
const params = { name: "ada", upTo: 1 };
const unreachable = (url: string) => ({
  name: "QueueError",
  reason: "unreachable",
  message: expect.stringContaining(`No Redis answers at ${url}: `),
});

describe.skipIf(noServer !== undefined)(`a silent Redis ${noServer ?? ""}`, { timeout: 120_000 }, () => {
  async function silent() {
    const server = await startRedis();
    onTestFinished(() => server[Symbol.asyncDispose]());
    server.signal("SIGSTOP");
    return { url: server.url, journal: memoryJournal() };
  }

  /** Passes on to a Redis what it is sent, until that is a command of this name. */
  async function silentFrom(command: string) {
    const server = await startRedis();
    onTestFinished(() => server[Symbol.asyncDispose]());
    const sockets = new Set<Socket>();
    let isSilent = false;
    const proxy = createServer((client) => {
      const redis = connect(Number(new URL(server.url).port), "127.0.0.1");
      for (const socket of [client, redis]) sockets.add(socket.on("error", () => {}));
      client.on("data", (data) => {
        isSilent ||= data.toString().toLowerCase().includes(command);
        if (!isSilent) redis.write(data);
      });
      redis.pipe(client);
    }).listen(0, "127.0.0.1");
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    });
    await once(proxy, "listening");
    return { url: `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`, journal: memoryJournal() };
  }

  test("FLT-6 a queue that is first used while Redis hangs says so, and so does a worker", async () => {
    const options = await silent();
    await using queue = bullmqQueue(options);
    const asked = [queue.add(kind, params, { id: "r" }), queue.counts(), serveRuns([kind], options)];
    const answers = (await Promise.allSettled(asked)).map((answer) => answer.status === "rejected" && answer.reason);
    expect(answers).toMatchObject([unreachable(options.url), unreachable(options.url), unreachable(options.url)]);
  });

  test("FLT-6 a worker says so where Redis hangs as it begins", async () => {
    const options = await silentFrom("subscribe");
    await expect(serveRuns([kind], options)).rejects.toMatchObject(unreachable(options.url));
  });

  test("FLT-6 an abort and disposing end the first use of a queue and of a pace while Redis hangs", async () => {
    const options = await silent();
    const [queue, pace] = [bullmqQueue(options), redisPace({ url: options.url, key: "k" })];
    const signal = AbortSignal.abort("enough");
    await expect(queue.result(kind, "r", { signal })).rejects.toBe("enough");
    expect(await queue.progress({ signal })[Symbol.asyncIterator]().next()).toEqual({ done: true, value: undefined });
    const asked = [
      queue.add(kind, params, { id: "r" }),
      queue.counts(),
      pace.enter({ inputTokens: 1, outputTokens: 1 }),
    ];
    const answers = Promise.allSettled(asked);
    await Promise.all([queue[Symbol.asyncDispose](), pace[Symbol.asyncDispose]()]);
    expect((await answers).map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  });
});
