import { isRecord } from "@proviso/core/provider";
import { credentialsIn, environmentVariable, headerSecrets, isSecret } from "@proviso/adapter-kit";
import { environmentHeaders } from "./headers.ts";
import type { CheckedOptions, OpenAIClient } from "./options.ts";

/** What is really sent, and must not be shown: the key, what headers and the address carry, and what was given as secrets. */
export function secretsOf(options: CheckedOptions): readonly string[] {
  const { secrets = [], apiKey, headers, client, baseURL } = options;
  const keys = [apiKey, environmentVariable("OPENAI_API_KEY")].filter(isSecret);
  const ofClient = client === undefined ? Object.fromEntries(environmentHeaders()) : headersOf(client);
  return [
    ...secrets,
    ...keys,
    ...headerSecrets(headers),
    ...headerSecrets(ofClient),
    ...addressSecrets(client),
    ...credentialsIn(baseURL),
  ];
}

/**
 * Returns the default headers of a client that the application made. The SDK keeps them in a field of its own: as
 * given, or as `Headers` in `values`.
 */
function headersOf(client: OpenAIClient): unknown {
  const { _options } = client as { readonly _options?: { readonly defaultHeaders?: unknown } };
  const headers = _options?.defaultHeaders;
  return isRecord(headers) && headers["values"] instanceof Headers ? headers["values"] : headers;
}

/** Returns the secrets in a client's address. Only the client's own `fetch` may accept an address with a password. */
function addressSecrets(client: OpenAIClient | undefined): readonly string[] {
  return credentialsIn((client as { readonly baseURL?: unknown } | undefined)?.baseURL);
}
