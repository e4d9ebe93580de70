// A link is one connection to a server: opened once, lost once, never opened again.
import type { CallToolResult, Client, Transport } from "@modelcontextprotocol/client";
import { systemClock, type Clock, type ToolContext } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { logSafely, withShownAddresses } from "@proviso/runtime/internal";
import { answerAsked, type AskedCall } from "./asked.ts";
import type { McpToolInfo } from "./definitions.ts";
import { correctAnswers, unreadable } from "./corrected-answers.ts";
import { McpError } from "./mcp-error.ts";
import { shownServer, type CheckedConnectOptions, type McpServerSpec } from "./options.ts";
import { ProcessTransport } from "./process-transport.ts";
import {
  freshTools,
  list,
  lose,
  newLinkState,
  noticing,
  eventsFor,
  type AskedOf,
  type LinkState,
} from "./link-state.ts";
import { errorOf, isUnreadable, loadSdk, noTimeout, type Sdk } from "./sdk.ts";
import { startSilence } from "./silence.ts";
import { redactionFor } from "./source.ts";
import { callTool } from "./tool-call.ts";
import { transportFor } from "./transport.ts";
import { visibleName, visibleText, visibleValue } from "./visible-text.ts";

/** Milliseconds in which a process shows whether it knows the newest revision. An older one may never answer. */
const probeMs = 5_000;
/** Milliseconds in which a service may learn that its session is over. */
const farewellMs = 1_000;

/** An open connection to a server. */
export interface Link {
  readonly server: string;
  /** What the server listed last. */
  tools(): readonly McpToolInfo[];
  readonly client: Client;
  isLost(): boolean;
  /**
   * Returns what the server lists now: listed anew, within `connectMs`, if it has reported a change since.
   * @throws {McpError}
   */
  refresh(): Promise<readonly McpToolInfo[]>;
  call(tool: McpToolInfo, input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<CallToolResult>;
  /** A request that is no call of a tool, within `connectMs`; the end of the signal reaches the server. @throws {McpError} */
  ask<T>(request: AskedOf<T>, signal?: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

/** @throws {McpError} "connect", "timeout"; the reason of `closing` once that fires. */
export async function openLink(
  spec: McpServerSpec,
  options: CheckedConnectOptions,
  closing: AbortSignal,
): Promise<Link> {
  const sdk = await loadSdk();
  const { connectMs, clock = systemClock } = options;
  const late = new AbortController();
  const done = new AbortController();
  clock.sleep(connectMs, done.signal).then(
    () => late.abort(new DOMException("It took too long.", "TimeoutError")),
    () => {},
  );
  // Not `AbortSignal.any`: it would keep what listens to it as long as the server is used.
  const end = (): void => late.abort(closing.reason);
  closing.addEventListener("abort", end, { once: true });
  try {
    closing.throwIfAborted();
    return await connected(sdk, spec, options, late.signal);
  } catch (error) {
    const server = shownServer(spec);
    if (closing.aborted) throw closing.reason;
    if (error instanceof McpError) throw error;
    if (late.signal.aborted) {
      const written = error instanceof UnreadableError ? `, after it had written: ${error.written}` : ".";
      throw new McpError("timeout", server, `${server} did not answer within ${connectMs} ms${written}`, {
        cause: error,
      });
    }
    const message = messageOf(error);
    const why = isUnreadable(error, sdk)
      ? "cannot be used: its answer is not of the protocol."
      : `${message.startsWith(unreadable) ? "cannot be used" : "could not be reached"}: ${withShownAddresses(message)}`;
    throw new McpError("connect", server, `${server} ${why}`, { cause: error });
  } finally {
    closing.removeEventListener("abort", end);
    done.abort();
  }
}

async function connected(
  sdk: Sdk,
  spec: McpServerSpec,
  options: CheckedConnectOptions,
  signal: AbortSignal,
): Promise<Link> {
  const first = await handshake(sdk, spec, options, { signal });
  if ("link" in first) return first.link;
  // What ends at the first message is of an older revision, and wants another one.
  const second =
    first.hasEndedAtOnce && !signal.aborted
      ? await handshake(sdk, spec, options, { signal, prior: { kind: "legacy" } })
      : first;
  if ("link" in second) return second.link;
  const { transport, error } = second;
  if (!(transport instanceof ProcessTransport)) throw error;
  const { command } = spec as { readonly command: string };
  const odd = transport.odd();
  if (signal.aborted && odd !== "") throw new UnreadableError(odd, error);
  // An answer that refuses the connection says more than the end of the process behind it.
  const why = signal.aborted || error instanceof sdk.ProtocolError ? undefined : transport.whyUnusable();
  throw why === undefined ? error : new McpError("connect", command, `${command} ${why}`, { cause: error });
}

/** The error of a connection that took too long, with what was received that is no answer. */
class UnreadableError extends Error {
  readonly written: string;
  constructor(written: string, cause: unknown) {
    super("What was received is no answer.", { cause });
    this.written = written;
  }
}

type Handshake = { readonly link: Link } | FailedHandshake;
interface FailedHandshake {
  readonly transport: Transport;
  readonly error: unknown;
  /** Whether it is a process that was started, and ended by itself without any answer. */
  readonly hasEndedAtOnce: boolean;
}

async function handshake(
  sdk: Sdk,
  spec: McpServerSpec,
  options: CheckedConnectOptions,
  { signal, prior }: { readonly signal: AbortSignal; readonly prior?: { readonly kind: "legacy" } },
): Promise<Handshake> {
  const { elicit, sampling } = options;
  const redact = redactionFor(options.secrets);
  const state = newLinkState(shownServer(spec));
  const transport = transportFor(sdk, spec, options.secrets, eventsFor(state));
  const client = new sdk.Client(
    { name: "proviso", version: "0.0.0" },
    {
      capabilities: {
        ...(elicit === undefined ? {} : { elicitation: { form: {}, url: {} } }),
        ...(sampling === undefined ? {} : { sampling: {} }),
      },
      versionNegotiation: { mode: "auto", probe: { timeoutMs: Math.min(probeMs, options.connectMs) } },
      // What is asked in a call is answered where the call is known.
      inputRequired: { autoFulfill: false },
      listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void state.reported++ } },
    },
  );
  answerOlderServers(client, options, state);
  // What the SDK reports beside the calls, a line that is no message say, ends no call.
  client.onerror = (error) => {
    const { logger } = options;
    if (logger === undefined) return;
    const why = (): string => redact(visibleText(withShownAddresses(messageOf(error))));
    logSafely(logger, "warn", () => ({ server: state.server, error: why() }), "mcp.warning");
  };
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  aborted.catch(() => {});
  const begin = async (): Promise<Link> => {
    await client.connect(transport, { signal, timeout: noTimeout, ...(prior === undefined ? {} : { prior }) });
    correctAnswers(transport);
    state.server = visibleName(redact(visibleText(client.getServerVersion()?.name ?? ""))) ?? state.server;
    const link = linkOver({ sdk, client, transport }, options, state);
    client.onclose = () => lose(state);
    await list(client, state, { signal, timeout: noTimeout });
    return link;
  };
  try {
    return { link: await Promise.race([begin(), aborted]) };
  } catch (error) {
    await transport.close().catch(() => {});
    const hasEndedAtOnce =
      transport instanceof ProcessTransport &&
      transport.hasEndedByItself &&
      transport.exit?.error === undefined &&
      !transport.hasAnswered;
    return { transport, error, hasEndedAtOnce };
  }
}

/**
 * Servers of 2025 ask over the connection, and nothing says in which call: with one call under way it is that one, with
 * several, or none, it is declined.
 */
function answerOlderServers(client: Client, options: CheckedConnectOptions, { calls }: LinkState): void {
  const redact = redactionFor(options.secrets);
  const answer = async (method: string, given: unknown): Promise<never> => {
    const params = redact(visibleValue(given));
    const [only, ...others] = calls;
    if (only === undefined || others.length > 0) {
      if (method === "elicitation/create") return { action: "decline" } as never;
      const server = only?.[0].server ?? "";
      throw new McpError("refused", server, "It is not known to which call this belongs: it is declined.");
    }
    const [call, { silence }] = only;
    return (await silence.paused(() => answerAsked(options, { method, params }, call))) as never;
  };
  if (options.elicit !== undefined)
    client.setRequestHandler("elicitation/create", ({ params }) => answer("elicitation/create", params));
  if (options.sampling !== undefined)
    client.setRequestHandler("sampling/createMessage", ({ params }) => answer("sampling/createMessage", params));
}

function linkOver(
  { sdk, client, transport }: { readonly sdk: Sdk; readonly client: Client; readonly transport: Transport },
  options: CheckedConnectOptions,
  state: LinkState,
): Link {
  const { server } = state;
  const { connectMs, clock = systemClock } = options;
  const redact = redactionFor(options.secrets);
  const ask: Link["ask"] = (request, signal) =>
    noticing(state, asker({ sdk, server, connectMs, clock })(request, signal));
  return {
    server,
    client,
    tools: () => state.tools,
    isLost: () => state.isLost,
    refresh: () => freshTools({ client, server, ask }, state),
    async call(tool, input, context) {
      const call: AskedCall = { server, tool: tool.name, context };
      const { promise: lost, reject } = Promise.withResolvers<never>();
      lost.catch(() => {});
      // A write that fails at the same time says more: that the server knows nothing of the call.
      const end = (error: McpError): void => void systemClock.sleep(0).then(() => reject(error));
      const silence = startSilence(options, call);
      state.calls.set(call, { end, silence });
      try {
        const calling = callTool({ sdk, client, options, call, silence, redact }, tool, input);
        return await noticing(state, Promise.race([calling, lost]));
      } finally {
        state.calls.delete(call);
      }
    },
    ask,
    async close() {
      lose(state);
      if ("terminateSession" in transport)
        await bounded(() => (transport as { terminateSession(): Promise<void> }).terminateSession());
      await client.close().catch(() => {});
      // Waits until nothing of a process is left.
      await transport.close().catch(() => {});
    },
  };
}

/** Makes `Link.ask`. */
function asker(of: {
  readonly sdk: Sdk;
  readonly server: string;
  readonly connectMs: number;
  readonly clock: Clock;
}): Link["ask"] {
  const { sdk, server, connectMs, clock } = of;
  return async (request, signal) => {
    const done = new AbortController();
    const aborted = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
    const late = clock.sleep(connectMs, done.signal).then(
      () => Promise.reject(new McpError("timeout", server, `${server} did not answer within ${connectMs} ms.`)),
      () => new Promise<never>(() => {}),
    );
    late.catch(() => {});
    try {
      return await Promise.race([request({ signal: aborted, timeout: noTimeout }), late]);
    } catch (error) {
      signal?.throwIfAborted();
      throw errorOf(error, server, sdk);
    } finally {
      done.abort();
    }
  };
}

/** The farewell is polite, and not needed: a service that does not answer is left. */
async function bounded(farewell: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  await Promise.race([farewell().catch(() => {}), systemClock.sleep(farewellMs, done.signal).catch(() => {})]);
  done.abort();
}
