import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { countingIds } from "./answer.ts";
import type { Chaos } from "./chaos.ts";
import { checkOptions } from "./check-options.ts";
import { systemClock, type SimulatorClock } from "./clock.ts";
import { serve, type State } from "./exchange.ts";
import type { FaultName } from "./faults.ts";
import { rateLimiter, type RateLimit } from "./limit.ts";
import { KeptItems } from "./kept-items.ts";
import { promptCache } from "./prompt-cache.ts";
import { scriptOf } from "./script.ts";
import type { LoggedRequest, SimulatorRule, SimulatorStep } from "./types.ts";

/** What `startSimulator` takes: `steps` or `rules`, and what goes wrong. */
export interface SimulatorOptions {
  /** Answers in order, one a request; a request beyond the last is refused. Not together with `rules`. */
  readonly steps?: readonly SimulatorStep[] | undefined;
  /** Asked in order; the first that answers wins; none: `fallbackRule`. */
  readonly rules?: readonly SimulatorRule[] | undefined;
  /** Milliseconds before every answer. Default 0. */
  readonly latencyMs?: number | undefined;
  /** The port to listen at. Default 0: any free one. */
  readonly port?: number | undefined;
  /** The only key that is accepted; left out: any. */
  readonly apiKey?: string | undefined;
  /** Faults by the number of the request, from 0; without a number on every one. */
  readonly faults?: readonly { readonly fault: FaultName; readonly at?: number | undefined }[] | undefined;
  /** Random faults from a seed. */
  readonly chaos?: Chaos | undefined;
  /** Buckets of requests and tokens; 429 with Retry-After when one is empty. */
  readonly rateLimit?: RateLimit | undefined;
  /** UTF-16 units of one delta of a stream, where the step says nothing. Default 16. */
  readonly chunkCharacters?: number | undefined;
  /** Milliseconds between two events of a stream, where the step says nothing. Default 0. */
  readonly eventMs?: number | undefined;
  /** Where latencies, paces and limits take their time from; core's fake clock will do. Default: the system's. */
  readonly clock?: SimulatorClock | undefined;
  /** false: `requests` stays empty, for runs of many thousands. Default true. */
  readonly keepRequests?: boolean | undefined;
  /** Called for each request when its answer begins. */
  readonly onRequest?: ((request: LoggedRequest) => void) | undefined;
}

/** A server that is running; `await using` closes it. */
export interface Simulator extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1`, for the clients of all services that it speaks for. */
  readonly baseURL: string;
  /** The port that it listens at. */
  readonly port: number;
  /** Grows with every request, when its answer begins. */
  readonly requests: readonly LoggedRequest[];
  /** Requests that are neither answered to their end nor given up by who sent them. */
  readonly awaited: number;
  /** Cuts what is open; done when nothing is awaited and the log is whole. Can be called twice. */
  close(): Promise<void>;
}

/**
 * A server on 127.0.0.1 that speaks as OpenAI's, Anthropic's and Gemini's services do.
 * @example
 * ```ts
 * import { openai } from "@proviso/adapter-openai";
 * import { startSimulator } from "@proviso/simulator";
 *
 * await using simulator = await startSimulator({ steps: [{ text: "Paris" }] });
 * const adapter = openai({ model: "any", apiKey: "sk-any", baseURL: simulator.baseURL });
 * console.log((await adapter.evaluate("What is the capital of France?")).output); // Paris
 * ```
 * @throws {TypeError} for an option that cannot be, with what it may be.
 * @throws {Error} when the port is taken.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  checkOptions(options);
  const state = startState(options);
  const served = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    const one = serve(state, request, response).finally(() => served.delete(one));
    served.add(one);
  });
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }).then(async () => void (await Promise.all(served)));
    return closing;
  };
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    port,
    requests: state.requests,
    get awaited() {
      return state.awaited;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function startState(options: SimulatorOptions): State {
  const clock = options.clock ?? systemClock;
  return {
    options,
    clock,
    ids: countingIds(),
    startedAt: clock.now(),
    script: scriptOf(options),
    limiter: options.rateLimit && rateLimiter(options.rateLimit, clock),
    cache: promptCache(),
    items: new KeptItems(),
    requests: [],
    accepted: 0,
    answered: 0,
    awaited: 0,
  };
}

/** Connections that may wait to be accepted: a bench opens thousands at once. */
const backlog = 4_096;

function listen(server: Server, port: number): Promise<void> {
  // A connection that ends just as it is used again would look like a fault that the test did not ask for.
  server.keepAliveTimeout = 0;
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ port, host: "127.0.0.1", backlog }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
