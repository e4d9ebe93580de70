import type { Transport } from "@modelcontextprotocol/client";
import { variablesNamed } from "@proviso/node/internal";
import { openSecrets } from "@proviso/runtime/internal";
import { boundedFetch } from "./bounded-fetch.ts";
import type { McpServerSpec } from "./options.ts";
import { ProcessTransport } from "./process-transport.ts";
import type { Sdk } from "./sdk.ts";

/** How a server is reached; nothing is opened yet. `sessionEnded`: called when a service says that its session is over. */
export function transportFor(
  sdk: Sdk,
  spec: McpServerSpec,
  secrets: readonly string[],
  sessionEnded: () => void,
): Transport {
  if ("command" in spec) {
    const { command, args = [], env = [], cwd } = spec;
    const started = { command, args, cwd, variables: variablesNamed(env) };
    return new ProcessTransport(started, sdk, openSecrets(secrets)) as Transport;
  }
  if ("transport" in spec) return spec.transport as Transport;
  const { url, headers, auth, fetch: given } = spec;
  return new sdk.StreamableHTTPClientTransport(new URL(url), {
    ...(headers === undefined ? {} : { requestInit: { headers: { ...headers } } }),
    ...(auth === undefined ? {} : { authProvider: auth as never }),
    fetch: boundedFetch(given, sessionEnded),
  }) as Transport;
}
