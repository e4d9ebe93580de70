// The search that a service runs by itself while it answers, as each of the wires shows it.
import type { Ids } from "./answer.ts";
import { badRequest } from "./refusal.ts";
import { sealOf } from "./signature.ts";
import { isObject, itemsOf, type Api, type JsonObject, type SimulatedRequest, type SimulatedSearch } from "./types.ts";

/** The types by which a request offers the search. Sources: the references of OpenAI ("Web search"), Anthropic and Gemini. */
const searchTypes: { readonly [api in Api]: RegExp } = {
  responses: /^web_search(_preview)?(_\d{4}_\d\d_\d\d)?$/,
  chat: /^$/,
  anthropic: /^web_search_\d{8}$/,
  gemini: /^googleSearch$/,
};

/** Whether a tool of a request, by its type or its key, is the service's own search. */
export function isSearch(api: Api, type: unknown): boolean {
  return typeof type === "string" && searchTypes[api].test(type);
}

function isOffered({ api, body }: SimulatedRequest): boolean {
  const tools = itemsOf(body["tools"]);
  return tools.some((tool) =>
    (api === "gemini" ? Object.keys(tool) : [tool["type"]]).some((type) => isSearch(api, type)),
  );
}

/** @throws {TypeError} for a search that the request does not offer. */
export function withSearches(
  request: SimulatedRequest,
  searches: readonly SimulatedSearch[],
  body: JsonObject,
  ids: Ids,
): JsonObject {
  if (searches.length === 0) return body;
  if (!isOffered(request)) throw new TypeError(`A step searches, and the request offers no search of the service's.`);
  return shown[request.api](body, searches, ids);
}

type Show = (body: JsonObject, searches: readonly SimulatedSearch[], ids: Ids) => JsonObject;

const shown: { readonly [api in Api]: Show } = {
  responses: inResponse,
  chat: (body) => body,
  anthropic: inMessage,
  gemini: inCandidate,
};

function found(searches: readonly SimulatedSearch[]): SimulatedSearch["results"] {
  return searches.flatMap(({ results }) => results);
}

/** Puts the searches behind the thoughts; the text cites all that was found. */
function inResponse(body: JsonObject, searches: readonly SimulatedSearch[], ids: Ids): JsonObject {
  const output = itemsOf(body["output"]);
  const thoughts = output.filter(({ type }) => type === "reasoning");
  const calls = searches.map(({ query }) => ({
    id: ids.next("ws"),
    type: "web_search_call",
    status: "completed",
    action: { type: "search", query, queries: [query] },
  }));
  const cited = output
    .filter(({ type }) => type !== "reasoning")
    .map((item) => (item["type"] === "message" ? { ...item, content: itemsOf(item["content"]).map(citing) } : item));
  function citing(part: JsonObject): JsonObject {
    if (part["type"] !== "output_text") return part;
    const end = String(part["text"]).length;
    const annotations = found(searches).map(({ url, title }) => ({
      type: "url_citation",
      start_index: 0,
      end_index: end,
      url,
      title,
    }));
    return { ...part, annotations };
  }
  return { ...body, output: [...thoughts, ...calls, ...cited] };
}

function inMessage(body: JsonObject, searches: readonly SimulatedSearch[], ids: Ids): JsonObject {
  const content = itemsOf(body["content"]);
  const isThought = ({ type }: JsonObject): boolean => type === "thinking";
  const blocks = searches.flatMap(({ query, results }) => {
    const id = ids.next("srvtoolu");
    const list = results.map(({ url, title }) => ({
      type: "web_search_result",
      url,
      title,
      encrypted_content: sealOf(url),
      page_age: null,
    }));
    return [
      { type: "server_tool_use", id, name: "web_search", input: { query } },
      { type: "web_search_tool_result", tool_use_id: id, content: list },
    ];
  });
  const cited = content
    .filter((block) => !isThought(block))
    .map((block) => (block["type"] === "text" ? { ...block, citations: citations(String(block["text"])) } : block));
  function citations(text: string): readonly JsonObject[] {
    return found(searches).map(({ url, title }) => ({
      type: "web_search_result_location",
      url,
      title,
      encrypted_index: sealOf(url),
      cited_text: text.slice(0, 150),
    }));
  }
  const { usage } = body;
  const counted = isObject(usage)
    ? { usage: { ...usage, server_tool_use: { web_search_requests: searches.length, web_fetch_requests: 0 } } }
    : {};
  return { ...body, content: [...content.filter(isThought), ...blocks, ...cited], ...counted };
}

function inCandidate(body: JsonObject, searches: readonly SimulatedSearch[]): JsonObject {
  const candidates = itemsOf(body["candidates"]).map((candidate) => {
    const content = isObject(candidate["content"]) ? candidate["content"] : {};
    const texts = itemsOf(content["parts"]).filter(({ text, thought }) => typeof text === "string" && thought !== true);
    const text = texts.map((part) => part["text"]).join("");
    const results = found(searches);
    const supports =
      text === "" || results.length === 0
        ? []
        : [
            {
              // Gemini counts bytes.
              segment: { startIndex: 0, endIndex: Buffer.byteLength(text), text },
              groundingChunkIndices: results.map((_, index) => index),
            },
          ];
    const groundingMetadata = {
      webSearchQueries: searches.map(({ query }) => query),
      groundingChunks: results.map(({ url, title }) => ({ web: { uri: url, title } })),
      groundingSupports: supports,
    };
    return { ...candidate, groundingMetadata };
  });
  return { ...body, candidates };
}

/** A search of Anthropic's goes back as it came: each with its result, and the results sealed. */
export function checkSearches(blocks: readonly JsonObject[], path: string): void {
  const open = new Set<string>();
  for (const [index, block] of blocks.entries()) {
    const at = `${path}.content.${index}`;
    if (block["type"] === "server_tool_use") open.add(String(block["id"]));
    if (block["type"] !== "web_search_tool_result") continue;
    if (!open.delete(String(block["tool_use_id"]))) {
      throw badRequest(
        `${at}: unexpected \`tool_use_id\` found in \`web_search_tool_result\` blocks: ${String(block["tool_use_id"])}.`,
      );
    }
    const forged = itemsOf(block["content"]).findIndex(
      ({ url, encrypted_content: seal }) => seal !== sealOf(String(url)),
    );
    if (forged >= 0) throw badRequest(`${at}.content.${forged}: Invalid \`encrypted_content\` in search_result block`);
  }
  const [alone] = open;
  if (alone === undefined) return;
  throw badRequest(
    `${path}: \`web_search\` tool use with id ${alone} was found without a corresponding \`web_search_tool_result\` block`,
  );
}
