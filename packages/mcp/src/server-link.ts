// 1. There is one link at a time. A lost one is replaced by the next call, and by nothing else.
// 2. `definitions` are what was pinned, or what was listed first, and do not change. What the server lists later is
//    compared with them: a call of a tool that changed fails, unless the change was accepted.
import type { CallToolResult } from "@modelcontextprotocol/client";
import { DefinitionError, type ToolContext } from "@proviso/core";
import {
  changesOf,
  differenceOf,
  hashOf,
  pinsOf,
  type McpChange,
  type McpPins,
  type McpToolInfo,
} from "./definitions.ts";
import { openLink, type Link } from "./link.ts";
import { McpError } from "./mcp-error.ts";
import type { CheckedConnectOptions, McpServerSpec } from "./options.ts";

/** A server, as long as it is used. */
export interface ServerLink {
  /** Connects, unless it has. @throws {McpError} @throws {DefinitionError} for changes */
  open(): Promise<Opened>;
  call(tool: McpToolInfo, input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<CallToolResult>;
  close(): Promise<void>;
}

interface Opened {
  readonly link: Link;
  readonly pins: McpPins;
  readonly definitions: readonly McpToolInfo[];
}

/** Opens nothing yet. */
export function serverLink(spec: McpServerSpec, options: CheckedConnectOptions): ServerLink {
  const changes = changeKeeper(options);
  let opening: Promise<Opened> | undefined;
  let isClosed = false;
  /** What tools must be: given, or listed first. */
  let pinned: { readonly pins: McpPins; readonly definitions: readonly McpToolInfo[] } | undefined;

  const connect = async (): Promise<Opened> => {
    const link = await openLink(spec, options);
    try {
      pinned ??= await changes.first(link.server, link.tools());
      await changes.look(pinned.definitions, link.tools());
      if (isClosed) throw closedError(link.server);
      return { link, ...pinned };
    } catch (error) {
      await link.close();
      throw error;
    }
  };
  const open = async (): Promise<Opened> => {
    if (isClosed) throw closedError(pinned?.pins.server.name ?? "the server");
    const before = await opening?.catch(() => undefined);
    if (before !== undefined && !before.link.isLost()) return before;
    if (before === undefined || before === (await opening?.catch(() => undefined))) opening = connect();
    return opening as Promise<Opened>;
  };
  return {
    open,
    async call(tool, input, context) {
      const { link, definitions } = await untilAborted(context.signal, open());
      if (await link.refresh(context.signal)) await changes.look(definitions, link.tools());
      changes.check(tool, link.server);
      return link.call(tool, input, context);
    },
    async close() {
      isClosed = true;
      const opened = await opening?.catch(() => undefined);
      await opened?.link.close();
    },
  };
}

function closedError(server: string): McpError {
  return new McpError("closed", server, `The connection to ${server} was closed.`);
}

/** Waits as long as the call lasts; the connection is others' too. */
async function untilAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true, signal: done.signal });
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    done.abort();
  }
}

interface ChangeKeeper {
  /** @throws {DefinitionError} for changes that are refused */
  first(
    server: string,
    listed: readonly McpToolInfo[],
  ): Promise<{ readonly pins: McpPins; readonly definitions: readonly McpToolInfo[] }>;
  /** Compares what is listed now; asks of each change once. */
  look(definitions: readonly McpToolInfo[], listed: readonly McpToolInfo[]): Promise<void>;
  /** @throws {McpError} "changed" */
  check(tool: McpToolInfo, server: string): void;
}

function changeKeeper({ pins, onChange }: CheckedConnectOptions): ChangeKeeper {
  /** What was asked, with the answer. */
  const asked = new Map<string, boolean>();
  let refused: ReadonlyMap<string, McpChange> = new Map();
  const refusedOf = async (changes: readonly McpChange[]): Promise<readonly McpChange[]> => {
    const news = changes.filter((change) => !asked.has(keyOf(change)));
    if (news.length > 0) {
      const isAccepted = typeof onChange === "function" && (await onChange(news)) === true;
      for (const change of news) asked.set(keyOf(change), isAccepted);
    }
    return changes.filter((change) => asked.get(keyOf(change)) !== true);
  };
  return {
    async first(server, listed) {
      if (pins === undefined) return { pins: pinsOf(server, listed), definitions: listed };
      const changes = changesOf(pins.tools, listed);
      const [worst] = await refusedOf(changes);
      if (worst === undefined)
        return { pins, definitions: changes.length === 0 ? pins.tools.map(withoutHash) : listed };
      const all = changes.map((change) => `${change.tool} ${differenceOf(change)}`).join(", ");
      throw new DefinitionError(`The tools of ${server} are not what was pinned: ${all}.`);
    },
    async look(definitions, listed) {
      // A new tool is not offered, so it does no harm.
      const changes = changesOf(definitions, listed).filter(({ what }) => what !== "new");
      refused = new Map((await refusedOf(changes)).map((change) => [change.tool, change]));
    },
    check({ name }, server) {
      const change = refused.get(name);
      if (change === undefined) return;
      throw new McpError(
        "changed",
        server,
        `${name} of ${server} ${differenceOf(change)} since it was offered: it is not called.`,
      );
    },
  };
}

function withoutHash({ hash: _, ...info }: McpToolInfo & { readonly hash?: string }): McpToolInfo {
  return info;
}

function keyOf({ tool, what, now }: McpChange): string {
  return JSON.stringify([tool, what, now === undefined ? "" : hashOf(now)]);
}
