import { DefinitionError } from "@proviso/core";
import { checkOptionNames, type OptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import {
  checkAdapterOptions,
  adapterOptionNames,
  checkBaseURL,
  checkModelSettings,
  environmentVariable,
} from "@proviso/adapter-kit";
import { type AdapterOptions } from "@proviso/runtime";
import { Account } from "./account.ts";
import { addressOf, checkClient, checkCreate, present } from "./check-client.ts";
import type { LeanFetch } from "./fetch.ts";
import { requestHeaders } from "./headers.ts";

/** What is used of a client of the package "openai", of a subclass such as `AzureOpenAI`, or of a stand-in. */
export interface OpenAIClient {
  /** The Responses API. */
  readonly responses: { create(body: never, options?: never): unknown };
  /** Chat Completions. */
  readonly chat: { readonly completions: { create(body: never, options?: never): unknown } };
}

/** How to reach it. */
export interface OpenAIConnection {
  /**
   * Sends the requests in place of the adapter, by its `create`. Key, organisation, headers, `fetch` and address are its
   * own then: given beside it, they are a DefinitionError, but for the address of a client that has none. Default: the
   * adapter sends the requests itself, over `fetch`.
   */
  readonly client?: OpenAIClient | undefined;
  /** The key of the service. Left out: the value of OPENAI_API_KEY. */
  readonly apiKey?: string | undefined;
  /** The address of the service. Left out: the value of OPENAI_BASE_URL, else OpenAI's own address. */
  readonly baseURL?: string | undefined;
  /** The organisation that requests are counted for. Default: `OPENAI_ORG_ID`. */
  readonly organization?: string | undefined;
  /** Headers that every request carries. Their values count as secrets. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds for one request, its body included. Default: 10 minutes, or a given client's own. */
  readonly timeoutMs?: number | undefined;
  /**
   * The function that sends requests, `leanFetch()` of "@proviso/adapter-openai/node" for example. Default: the global
   * `fetch`.
   */
  readonly fetch?: LeanFetch | undefined;
  /** Milliseconds between two events of a stream. Default 60,000, or `timeoutMs` where that is less. */
  readonly stallMs?: number | undefined;
  /**
   * true: the adapter can be made in a browser, with a key for OpenAI's own address. Everyone who opens the page can read
   * that key and spend its credit. Default false: a DefinitionError.
   */
  readonly dangerouslyAllowBrowser?: boolean | undefined;
}

/** What every request carries; only what is set is sent. */
export interface OpenAISettings {
  /** How freely tokens are chosen, 0 to 2. Left out: not sent. */
  readonly temperature?: number | undefined;
  /** The share of probability that tokens are chosen from, 0 to 1. Left out: not sent. */
  readonly topP?: number | undefined;
  /** max_output_tokens on the wire; with api "chat" max_completion_tokens, at services that are not OpenAI's max_tokens. */
  readonly maxOutputTokens?: number | undefined;
  /** How much the model reasons before it answers. */
  readonly reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | (string & {}) | undefined;
  /** Whether the answer carries the probabilities of its tokens. */
  readonly logprobs?: boolean | undefined;
  /** How many alternatives of each token are returned with their probabilities, 0 to 20. */
  readonly topLogprobs?: number | undefined;
  /** Whether the model may make several calls in one turn. */
  readonly parallelToolCalls?: boolean | undefined;
  /**
   * false: reasoning is asked for encrypted, and replayed so. A model that does not reason may refuse that:
   * `extraBody: { include: undefined }` leaves it out.
   */
  readonly store?: boolean | undefined;
  /** An id of the end user, for the service's abuse detection. */
  readonly user?: string | undefined;
  /** false: the schema goes into the prompt text and the answer is parsed from text. Default true. */
  readonly nativeOutput?: boolean | undefined;
  /** Laid over the body, last. */
  readonly extraBody?: Readonly<Record<string, unknown>> | undefined;
}

/** Settings of api "chat". With "responses" they cause a DefinitionError when the adapter is made. */
export interface OpenAIChatSettings {
  /** Asks the service for answers that can be reproduced. */
  readonly seed?: number | undefined;
  /** Texts at which the model stops. */
  readonly stop?: readonly string[] | undefined;
  /** How much tokens that occurred are avoided, -2 to 2. Left out: not sent. */
  readonly presencePenalty?: number | undefined;
  /** How much frequent tokens are avoided, -2 to 2. Left out: not sent. */
  readonly frequencyPenalty?: number | undefined;
}

/** What `openai` takes: the model, the connection, settings of the model, and those of every adapter. */
export interface OpenAIOptions extends OpenAIConnection, OpenAISettings, OpenAIChatSettings, AdapterOptions {
  /** The model's name. */
  readonly model: string;
  /** The API that is called. Left out: "responses", or "chat" when baseURL is not OpenAI's. */
  readonly api?: "responses" | "chat" | undefined;
}

/** Options that were checked, with nothing left to look up. */
export interface CheckedOptions extends OpenAIOptions {
  readonly api: "responses" | "chat";
  /** What is known of the account while the program runs. Left out: nothing. */
  readonly account?: Account;
}

const optionNames = {
  model: true,
  api: true,
  client: true,
  apiKey: true,
  baseURL: true,
  organization: true,
  headers: true,
  timeoutMs: true,
  fetch: true,
  stallMs: true,
  dangerouslyAllowBrowser: true,
  temperature: true,
  topP: true,
  maxOutputTokens: true,
  reasoningEffort: true,
  logprobs: true,
  topLogprobs: true,
  parallelToolCalls: true,
  store: true,
  user: true,
  nativeOutput: true,
  extraBody: true,
  seed: true,
  stop: true,
  presencePenalty: true,
  frequencyPenalty: true,
  ...adapterOptionNames,
} as const satisfies OptionNames<OpenAIOptions>;

/** The options that decide what the model answers. */
export function decidingIn({
  api,
  baseURL,
  temperature,
  topP,
  maxOutputTokens,
  reasoningEffort,
  parallelToolCalls,
  store,
  nativeOutput,
  extraBody,
  seed,
  stop,
  presencePenalty,
  frequencyPenalty,
}: CheckedOptions): Partial<CheckedOptions> {
  const sampling = {
    temperature,
    topP,
    maxOutputTokens,
    reasoningEffort,
    seed,
    stop,
    presencePenalty,
    frequencyPenalty,
  };
  return { api, baseURL, parallelToolCalls, store, nativeOutput, extraBody, ...sampling };
}

const openAIHost = "api.openai.com";

/** A checked copy. @throws {DefinitionError} naming the option and its range. */
export function checkOptions(given: OpenAIOptions): CheckedOptions {
  const options = copyOf(given);
  if (typeof options.model !== "string" || options.model.trim() === "") {
    throw needsModel();
  }
  const { api } = options;
  if (api !== undefined && api !== "responses" && api !== "chat") {
    throw new DefinitionError(`The option api must be "responses" or "chat", not ${describeValue(api)}.`);
  }
  const { apiKey, baseURL } = connectionOf(options);
  const found = { ...options, baseURL, apiKey, api: api ?? (isOpenAI(baseURL) ? "responses" : "chat") } as const;
  const checked: CheckedOptions = Object.freeze({ ...found, account: new Account(found) });
  if (checked.client === undefined && checked.apiKey === undefined) {
    throw new DefinitionError("openai needs a key: set OPENAI_API_KEY, or give { apiKey } or { client }.");
  }
  checkCreate(checked.client, checked.api);
  refuseBrowser(checked);
  if (checked.api === "responses") refuseChatSettings(checked);
  if (checked.client === undefined) requestHeaders(checked);
  return checked;
}

/** A key that a page holds is known to everyone who opens it. An address that is not OpenAI's may be a proxy, which has the key. */
function refuseBrowser({ client, baseURL, dangerouslyAllowBrowser: allowed }: CheckedOptions): void {
  if (allowed !== undefined && typeof allowed !== "boolean") {
    throw new DefinitionError(
      `The option dangerouslyAllowBrowser must be true or false, not ${describeValue(allowed)}.`,
    );
  }
  const { window, document } = globalThis as { readonly window?: unknown; readonly document?: unknown };
  const inBrowser = window !== undefined && document !== undefined;
  if (!inBrowser || allowed === true || client !== undefined || !isOpenAI(baseURL)) return;
  throw new DefinitionError(
    "openai is made in a browser, where everyone who opens the page can read its key. Send the requests through a server " +
      "of yours that adds the key, and give its address: { baseURL }. Where the key may be known, give " +
      "{ dangerouslyAllowBrowser: true }.",
  );
}

function needsModel(): DefinitionError {
  return new DefinitionError('openai needs a model, for example { model: "gpt-5.4" }.');
}

function copyOf(given: OpenAIOptions): OpenAIOptions {
  if (typeof given !== "object" || given === null) throw needsModel();
  if ("responses" in given && "chat" in given)
    throw new DefinitionError("openai takes options, and this is a client: give { model, client }.");
  checkOptionNames("openai", given, optionNames);
  checkAdapterOptions(given);
  checkModelSettings(given);
  checkClient(given);
  return {
    ...given,
    ...(given.headers === undefined ? {} : { headers: { ...given.headers } }),
    ...(given.extraBody === undefined ? {} : { extraBody: cloned(given.extraBody) }),
    ...(given.stop === undefined ? {} : { stop: [...given.stop] }),
  };
}

function cloned<T>(extraBody: T): T {
  try {
    return structuredClone(extraBody);
  } catch (cause) {
    throw new DefinitionError("The option extraBody must be plain JSON.", { cause });
  }
}

/** A given client's key and address, else the options', else the environment's. Blank is as if left out. */
function connectionOf(options: OpenAIOptions): Pick<OpenAIOptions, "apiKey" | "baseURL"> {
  const { client } = options;
  if (client !== undefined) {
    const { apiKey } = client as { readonly apiKey?: unknown };
    return { apiKey: present(apiKey), baseURL: addressOf(client) ?? checkedBaseURL(present(options.baseURL)) };
  }
  return {
    apiKey: present(options.apiKey) ?? environmentVariable("OPENAI_API_KEY"),
    baseURL: checkedBaseURL(present(options.baseURL) ?? environmentVariable("OPENAI_BASE_URL")),
  };
}

function checkedBaseURL(baseURL: string | undefined): string | undefined {
  return baseURL === undefined ? undefined : checkBaseURL(baseURL);
}

function refuseChatSettings(options: CheckedOptions): void {
  const refused = (["seed", "stop", "presencePenalty", "frequencyPenalty"] as const).filter(
    (name) => options[name] !== undefined,
  );
  if (refused.length === 0) return;
  throw new DefinitionError(
    `The Responses API does not take ${refused.join(", ")}; use { api: "chat" } or leave them out.`,
  );
}

/** The host of a service that is not OpenAI's; undefined: it is, or its address is not known. */
export function compatibleService({ baseURL }: Pick<CheckedOptions, "baseURL">): string | undefined {
  return baseURL === undefined || isOpenAI(baseURL) ? undefined : new URL(baseURL).host;
}

function isOpenAI(baseURL: string | undefined): boolean {
  return baseURL === undefined || (URL.canParse(baseURL) && new URL(baseURL).hostname === openAIHost);
}
