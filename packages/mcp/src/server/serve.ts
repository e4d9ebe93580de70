import type { CallToolResult, GetPromptResult, Server } from "@modelcontextprotocol/server";
import { isForbiddenKey, messageOf } from "@proviso/core/internal";
import { callGroup, type CallGroup } from "./call-group.ts";
import { toolCaller } from "./call.ts";
import { clientOf, withClientId } from "./client-id.ts";
import { listenOnLoopback } from "./loopback.ts";
import {
  checkListenOptions,
  servedBy,
  type ListenOptions,
  type Served,
  type ServedPrompt,
  type ServeMcpOptions,
} from "./options.ts";
import { placesOf } from "./places.ts";
import { sentParams } from "./sent-params.ts";
import { serveStandardStreams } from "./standard-streams.ts";
import { servedTool } from "./tool-list.ts";

/** Tools and prompts that are served over the Model Context Protocol. */
export interface McpService extends AsyncDisposable {
  /** Answers a request of any web server. Who may call it is the web server's to say; see `listen`. */
  fetch(request: Request): Promise<Response>;
  /**
   * Serves this process's standard input and output until the other side closes them. It ends when the calls that were
   * under way have been undone.
   * @throws {DefinitionError} once the service is closed.
   */
  stdio(): Promise<void>;
  /**
   * Listens on the loopback interface only: every request has to show the bearer `secret`, and Host and Origin are
   * checked. Default: a free port and a random secret.
   * @throws {DefinitionError} for an option that cannot be, a port that it cannot listen on, and once the service is closed.
   */
  listen(
    options?: ListenOptions,
  ): Promise<{ readonly url: string; readonly headers: Readonly<Record<string, string>> }>;
  /** Aborts the calls under way; it ends when they have been undone, and nothing listens any more. */
  close(): Promise<void>;
}

type ServerSdk = typeof import("@modelcontextprotocol/server");

/**
 * Offers tools, evaluations and prompts to editors and agents. Every call is an evaluation of its own through the one
 * executor: a transaction on `session` and `resources`, with its policies, events and limits.
 * @example
 * ```ts
 * import { defineTool } from "@proviso/core";
 * import { serveMcp } from "@proviso/mcp/server";
 * import { z } from "zod";
 *
 * const add = defineTool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   readOnly: true,
 *   execute: ({ a, b }) => a + b,
 * });
 * await using service = serveMcp({ name: "sums", tools: [add] });
 * const { url } = await service.listen();
 * console.log(url.startsWith("http://127.0.0.1:")); // true
 * ```
 * @throws {DefinitionError} for nothing to serve, names that meet, evaluations without an adapter, prompts whose params are no texts.
 */
export function serveMcp(options: ServeMcpOptions): McpService {
  const served = servedBy(options);
  const call = toolCaller(served);
  const overHttp = callGroup(call);
  const places = placesOf(served.options.name);
  let handling: Promise<{ fetch(request: Request): Promise<Response>; close(): Promise<void> }> | undefined;
  const handler = async (): Promise<{ fetch(request: Request): Promise<Response>; close(): Promise<void> }> => {
    const sdk = await import("@modelcontextprotocol/server");
    return sdk.createMcpHandler(({ requestInfo }) => serverOf(sdk, served, overHttp, clientOf(requestInfo)));
  };
  const fetch = async (request: Request): Promise<Response> => {
    const { fetch: answer } = await (handling ??= handler());
    return withClientId(request, await answer(request));
  };
  const close = async (): Promise<void> => {
    const ended = overHttp.close();
    await places.close();
    await (await handling)?.close();
    await ended;
  };
  return {
    fetch,
    async stdio() {
      const [sdk, { serveStdio }] = await Promise.all([
        import("@modelcontextprotocol/server"),
        import("@modelcontextprotocol/server/stdio"),
      ]);
      const calls = callGroup(call);
      const streams = await places.open(() =>
        serveStandardStreams(serveStdio, () => serverOf(sdk, served, calls), calls),
      );
      await streams.ended;
      await streams.close();
    },
    async listen(given) {
      checkListenOptions(given);
      const { url, headers } = await places.open(() => listenOnLoopback(fetch, given));
      return { url, headers };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

/** A server for one request, or one connection: it holds nothing. `client`: whose request it is, where that is shown. */
function serverOf(
  { Server: Made, ProtocolError, ProtocolErrorCode }: ServerSdk,
  served: Served,
  calls: CallGroup,
  client?: string,
): Server {
  const { options, tools, prompts } = served;
  const capabilities = {
    ...(tools.length === 0 ? {} : { tools: {} }),
    ...(prompts.length === 0 ? {} : { prompts: {} }),
  };
  const server = new Made({ name: options.name, version: options.version ?? "0.0.0" }, { capabilities });
  // The call is another request, which another server answers.
  if (client !== undefined)
    server.setNotificationHandler("notifications/cancelled", ({ params }) => calls.cancel(client, params.requestId));
  if (tools.length > 0) {
    server.setRequestHandler("tools/list", () => ({ tools: tools.map(servedTool) as never }));
    server.setRequestHandler(
      "tools/call",
      { params: sentParams },
      ({ name, arguments: given = {} }, { mcpReq }): Promise<CallToolResult> => calls.call(name, given, mcpReq, client),
    );
  }
  if (prompts.length === 0) return server;
  server.setRequestHandler("prompts/list", () => ({
    prompts: prompts.map(({ name, template, args }) => ({
      name,
      description: `Renders the prompt ${template.name}.`,
      arguments: args.map(({ name: argument, description, required }) => ({
        name: argument,
        required,
        ...(description === undefined ? {} : { description }),
      })),
    })),
  }));
  server.setRequestHandler(
    "prompts/get",
    { params: sentParams },
    ({ name, arguments: given = {} }): GetPromptResult => {
      const prompt = prompts.find((one) => one.name === name);
      try {
        if (prompt === undefined) throw new Error(`There is no prompt ${JSON.stringify(name)}.`);
        return { messages: [{ role: "user", content: { type: "text", text: rendered(prompt, given) } }] };
      } catch (error) {
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, messageOf(error));
      }
    },
  );
  return server;
}

/** Arguments come as texts. */
function rendered({ template, args }: ServedPrompt, given: Readonly<Record<string, unknown>>): string {
  const params = Object.entries(given).map(([name, text]): readonly [string, unknown] => {
    if (isForbiddenKey(name)) throw new Error(`The key "${name}" is not allowed.`);
    if (typeof text !== "string") throw new Error(`The argument ${name} must be a text.`);
    const type = args.find((arg) => arg.name === name)?.type;
    if (type === "number" && text.trim() !== "") return [name, Number(text)];
    if (type === "boolean" && (text === "true" || text === "false")) return [name, text === "true"];
    return [name, text];
  });
  return template.bind(Object.fromEntries(params) as never).render().text;
}
