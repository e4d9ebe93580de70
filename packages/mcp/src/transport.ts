import type { Transport } from "@modelcontextprotocol/client";
import { variablesNamed } from "@proviso/node/internal";
import { openSecrets } from "@proviso/runtime/internal";
import type { ConnectionEvents } from "./bounded-fetch.ts";
import type { McpServerSpec } from "./options.ts";
import { ProcessTransport } from "./process-transport.ts";
import type { Sdk } from "./sdk.ts";
import { ServiceTransport } from "./service-transport.ts";

/** How a server is reached; nothing is opened yet. `events` are those of a service: a process and a transport close themselves. */
export function transportFor(
  sdk: Sdk,
  spec: McpServerSpec,
  secrets: readonly string[],
  events: ConnectionEvents,
): Transport {
  if ("command" in spec) {
    const { command, args = [], env = [], cwd } = spec;
    const started = { command, args, cwd, variables: variablesNamed(env) };
    return new ProcessTransport(started, sdk, openSecrets(secrets)) as Transport;
  }
  if ("transport" in spec) return spec.transport as Transport;
  return new ServiceTransport(sdk, spec, events);
}
