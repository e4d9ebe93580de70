// 1. `listed` is the value of `reported` when the last listing began: the list is stale while they differ. One listing
//    serves all calls that wait for it, and one that fails leaves the list stale.
// 2. What breaks between us and a service makes the list stale, too: who answers now may be another server. While it cannot
//    report a change, each call lists anew.
// 3. A call under way is in `calls`, with its context, until the server has answered or the link is lost.
import type { Client } from "@modelcontextprotocol/client";
import type { AskedCall } from "./asked.ts";
import type { ConnectionEvents } from "./bounded-fetch.ts";
import { infoOf, type McpToolInfo } from "./definitions.ts";
import { lostError, McpError, UnsentError } from "./mcp-error.ts";
import type { Silence } from "./silence.ts";

/** Listings before one call, of a server that changes its tools while they are listed. */
const mostListings = 4;

/** A request, as it is sent with its end. */
export type AskedOf<T> = (options: { readonly signal: AbortSignal; readonly timeout: number }) => Promise<T>;

/** What is known of a connection. */
export interface LinkState {
  /** The server's own name, as soon as it is known; how it is reached before. */
  server: string;
  isLost: boolean;
  /** How often the server has reported that its tools changed, or may have changed them without a report. */
  reported: number;
  /** true: it did report changes, and cannot at the moment. */
  missesReports: boolean;
  /** `reported` as it was when `tools` were asked for; -1: they were not listed yet. */
  listed: number;
  /** The listing that is under way. */
  listing: Promise<void> | undefined;
  tools: readonly McpToolInfo[];
  /** The calls under way, each with what ends it. */
  readonly calls: Map<AskedCall, { readonly end: (error: McpError) => void; readonly silence: Silence }>;
}

export function newLinkState(server: string): LinkState {
  const listing = undefined;
  return { server, isLost: false, reported: 0, missesReports: false, listed: -1, listing, tools: [], calls: new Map() };
}

/** Ends the calls under way. */
export function lose(state: LinkState): void {
  state.isLost = true;
  const error = lostError(state.server);
  for (const { end } of state.calls.values()) end(error);
}

/** What was asked. What could not be sent shows that the connection is lost; its transport ends the calls under way. */
export async function noticing<T>(state: LinkState, asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof UnsentError) state.isLost = true;
    throw error;
  }
}

/** Keeps what happens to the connection of a service. */
export function eventsFor(state: LinkState): ConnectionEvents {
  return {
    sessionEnded: () => lose(state),
    failed: () => void state.reported++,
    reportsBegin() {
      if (state.missesReports) state.reported++;
      state.missesReports = false;
    },
    reportsEnd() {
      state.reported++;
      state.missesReports = true;
    },
  };
}

/** Whether the server says that it has any. Asked for the others, the SDK prints a line to standard output. */
export function offers(client: Client, what: "tools" | "resources" | "prompts"): boolean {
  return client.getServerCapabilities()?.[what] !== undefined;
}

/** Lists the tools once. */
export async function list(client: Client, state: LinkState, options: Parameters<AskedOf<unknown>>[0]): Promise<void> {
  const { reported } = state;
  if (!offers(client, "tools")) {
    state.tools = [];
    state.listed = reported;
    return;
  }
  const { tools } = await client.listTools(undefined, { ...options, cacheMode: "refresh" });
  state.tools = tools.map(infoOf);
  state.listed = reported;
}

/**
 * Lists the tools until all changes that the server reported are in the list. A connection over which they cannot be asked
 * for is lost.
 */
export async function freshTools(
  {
    client,
    server,
    ask,
  }: { readonly client: Client; readonly server: string; readonly ask: (request: AskedOf<void>) => Promise<void> },
  state: LinkState,
): Promise<readonly McpToolInfo[]> {
  if (state.missesReports && state.listing === undefined) state.reported++;
  for (let listings = 0; state.listed !== state.reported; listings++) {
    if (listings === mostListings) {
      throw new McpError("protocol", server, `${server} changes its tools again and again while they are listed.`);
    }
    state.listing ??= ask((asked) => list(client, state, asked)).finally(() => void (state.listing = undefined));
    try {
      await state.listing;
    } catch (error) {
      if (error instanceof McpError && error.reason === "closed") lose(state);
      throw error;
    }
  }
  return state.tools;
}
