// 1. There is one link at a time. A lost one is replaced by the next call, and by nothing else.
// 2. `definitions` are what was pinned, or what was listed first, and do not change. What the server lists later is
//    compared with them: a call of a tool that changed fails, unless the change was accepted. Calls that begin meanwhile
//    wait for the same comparison.
import type { CallToolResult } from "@modelcontextprotocol/client";
import { DefinitionError, type ToolContext } from "@proviso/core";
import { untilAborted } from "@proviso/runtime/internal";
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
import { McpError, UnsentError } from "./mcp-error.ts";
import type { CheckedConnectOptions, McpServerSpec } from "./options.ts";

/** A server, as long as it is used. */
export interface ServerLink {
  /** Connects, unless it has. @throws {McpError} @throws {DefinitionError} for changes */
  open(): Promise<Opened>;
  call(tool: McpToolInfo, input: Readonly<Record<string, unknown>>, context: ToolContext): Promise<CallToolResult>;
  /** Asks for something that is no call of a tool. @throws {McpError} */
  ask<T>(request: (link: Link) => Promise<T>): Promise<T>;
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
  const closing = new AbortController();
  /** What tools must be: given, or listed first. */
  let pinned: { readonly pins: McpPins; readonly definitions: readonly McpToolInfo[] } | undefined;

  /** Lost connections that are being closed. */
  const leaving = new Set<Promise<void>>();

  const connect = async (): Promise<Opened> => {
    const link = await openLink(spec, options, closing.signal);
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
  const open = async (isAgain = false): Promise<Opened> => {
    if (isClosed) throw closedError(pinned?.pins.server.name ?? "the server");
    const own = (opening ??= connect());
    const opened = await own.catch((error: unknown) => {
      if (opening === own) opening = undefined;
      throw error;
    });
    if (!opened.link.isLost()) return opened;
    // The first call that sees it replaces it; others find the new one.
    if (opening === own) {
      opening = undefined;
      const left = opened.link.close();
      leaving.add(left);
      void left.finally(() => leaving.delete(left));
    }
    if (!isAgain) return open(true);
    throw new McpError(
      "closed",
      opened.link.server,
      `The connection to ${opened.link.server} was lost as soon as it was open.`,
    );
  };
  return {
    open: () => open(),
    call: (tool, input, context) =>
      sentOnce(async () => {
        const ready = readyLink(() => open(), changes, tool);
        // Waits as long as the call lasts; the connection is others' too.
        const link = await untilAborted(context.signal, ready);
        return link.call(tool, input, context);
      }),
    ask: (request) => sentOnce(async () => request((await open()).link)),
    async close() {
      isClosed = true;
      // A connection that is being opened would be waited for as long as its server is silent.
      closing.abort(closedError(pinned?.pins.server.name ?? "the server"));
      const opened = await opening?.catch(() => undefined);
      await opened?.link.close();
      await Promise.all(leaving);
    },
  };
}

/** Asks once more, over a new connection, where nothing was sent. */
async function sentOnce<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof UnsentError) return ask();
    throw error;
  }
}

/** A connection over which the tool may be called. One that was lost before the call began is opened anew, once. */
async function readyLink(
  open: () => Promise<Opened>,
  changes: ChangeKeeper,
  tool: McpToolInfo,
  isAgain = false,
): Promise<Link> {
  const { link, definitions } = await open();
  try {
    checkTool(tool, await changes.look(definitions, await link.refresh()), link.server);
    return link;
  } catch (error) {
    if (isAgain || !link.isLost()) throw error;
    return readyLink(open, changes, tool, true);
  }
}

function closedError(server: string): McpError {
  return new McpError("closed", server, `The connection to ${server} was closed.`);
}

/** The changes that were not accepted, by the tool's name. */
type Refused = ReadonlyMap<string, McpChange>;

interface ChangeKeeper {
  /** @throws {DefinitionError} for changes that are refused */
  first(
    server: string,
    listed: readonly McpToolInfo[],
  ): Promise<{ readonly pins: McpPins; readonly definitions: readonly McpToolInfo[] }>;
  /** Compares what is listed now, once for each list, and asks of each change once. Returns what is refused. */
  look(definitions: readonly McpToolInfo[], listed: readonly McpToolInfo[]): Promise<Refused>;
}

function changeKeeper({ pins, onChange }: CheckedConnectOptions): ChangeKeeper {
  /** What was asked, with the answer. */
  const asked = new Map<string, boolean>();
  /** The last list that was compared. */
  let compared: { readonly listed: readonly McpToolInfo[]; readonly refused: Promise<Refused> } | undefined;
  const refusedOf = async (changes: readonly McpChange[]): Promise<readonly McpChange[]> => {
    const news = changes.filter((change) => !asked.has(keyOf(change)));
    if (news.length > 0) {
      const isAccepted = typeof onChange === "function" && (await onChange(news)) === true;
      for (const change of news) asked.set(keyOf(change), isAccepted);
    }
    return changes.filter((change) => asked.get(keyOf(change)) !== true);
  };
  const compare = async (definitions: readonly McpToolInfo[], listed: readonly McpToolInfo[]): Promise<Refused> => {
    // A new tool is not offered, so it does no harm.
    const changes = changesOf(definitions, listed).filter(({ what }) => what !== "new");
    return new Map((await refusedOf(changes)).map((change) => [change.tool, change]));
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
    look(definitions, listed) {
      if (compared?.listed === listed) return compared.refused;
      const own = { listed, refused: compare(definitions, listed) };
      compared = own;
      // A question that failed is asked again by the next call.
      own.refused.catch(() => void (compared = compared === own ? undefined : compared));
      return own.refused;
    },
  };
}

/** @throws {McpError} "changed" */
function checkTool({ name }: McpToolInfo, refused: Refused, server: string): void {
  const change = refused.get(name);
  if (change === undefined) return;
  const why = `${name} of ${server} ${differenceOf(change)} since it was offered: it is not called.`;
  throw new McpError("changed", server, why);
}

function withoutHash({ hash: _, ...info }: McpToolInfo & { readonly hash?: string }): McpToolInfo {
  return info;
}

function keyOf({ tool, what, now }: McpChange): string {
  return JSON.stringify([tool, what, now === undefined ? "" : hashOf(now)]);
}
