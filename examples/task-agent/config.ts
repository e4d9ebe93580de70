import { createGoogle } from "@ai-sdk/google";
import { aiSdk } from "@proviso/adapter-ai-sdk";
import { DefinitionError, type ProviderAdapter } from "@proviso/core";
import type { Environment } from "@proviso/runtime";

export interface Config {
  readonly apiKey: string;
  readonly model: string;
  /** undefined: Google's own. */
  readonly baseURL: string | undefined;
  readonly temperature: number;
  readonly maxOutputTokens: number;
  /** Of one request. */
  readonly timeoutMs: number;
  readonly maxRetries: number;
}

/** Source: the document's LLMConfig. */
const defaults = {
  model: "gemini-2.0-flash",
  temperature: 0,
  maxOutputTokens: 1024,
  timeoutMs: 30_000,
  maxRetries: 1,
} as const;

/**
 * From GEMINI_API_KEY, and where they are set GEMINI_MODEL and GEMINI_BASE_URL (of a proxy).
 * @throws {DefinitionError} without a key, and for a key or an URL with which no request could be sent.
 */
export function configFrom(environment: Readonly<Record<string, string | undefined>>): Config {
  const read = (name: string): string | undefined => environment[name]?.trim() || undefined;
  const apiKey = read("GEMINI_API_KEY");
  if (apiKey === undefined) {
    throw new DefinitionError("GEMINI_API_KEY is not set. Set it, or try the chat without a key: --simulate.");
  }
  if (!/^[!-~]+$/.test(apiKey)) {
    throw new DefinitionError("GEMINI_API_KEY is no key: it holds a space, a line break or a letter that none has.");
  }
  const baseURL = read("GEMINI_BASE_URL");
  if (baseURL !== undefined && !/^https?:/.test(URL.parse(baseURL)?.protocol ?? "")) {
    throw new DefinitionError(`GEMINI_BASE_URL is no URL of a web server: ${baseURL}`);
  }
  return { ...defaults, apiKey, model: read("GEMINI_MODEL") ?? defaults.model, baseURL };
}

/** Gemini, behind the same interface as any other model. */
export function gemini(config: Config, environment: Environment = {}): ProviderAdapter {
  const { apiKey, model, baseURL, temperature, maxOutputTokens, timeoutMs, maxRetries } = config;
  const google = createGoogle({ apiKey, ...(baseURL === undefined ? {} : { baseURL }) });
  const throttle = { maxAttempts: maxRetries + 1 };
  const settings = { temperature, maxOutputTokens, timeoutMs, throttle };
  return aiSdk({ model: google(model), ...settings, ...environment, secrets: [apiKey] });
}
