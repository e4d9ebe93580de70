import type { ToolContext } from "@proviso/core";
import { atEvaluationEnd, evaluationOf } from "@proviso/runtime/internal";
import { parsePins, type McpPins } from "./definitions.ts";
import { readFrom, resourcesOf } from "./connect.ts";
import { checkConnectOptions, type McpConnectOptions, type McpServerSpec } from "./options.ts";
import { serverLink, type ServerLink } from "./server-link.ts";
import { redactionFor, withCaller, type McpSource } from "./source.ts";

/**
 * Tools by their pins alone: nothing is connected when a prompt is defined. Each evaluation opens a connection of its own
 * with its first call, which checks the pins, and closes it at its end.
 * @throws {DefinitionError} for pins that are damaged, and for a server or an option that cannot be.
 */
export function pinnedMcp(
  server: McpServerSpec,
  pins: unknown,
  options: Omit<McpConnectOptions, "pins"> = {},
): McpSource {
  const parsed: McpPins = parsePins(pins);
  const checked = { ...checkConnectOptions(server, options), pins: parsed };
  const open = new Map<object, ServerLink>();
  const linkFor = (context: ToolContext): ServerLink => {
    const evaluation = evaluationOf(context);
    const known = open.get(evaluation);
    if (known !== undefined) return known;
    const link = serverLink(server, checked);
    atEvaluationEnd(context, () => {
      open.delete(evaluation);
      return link.close();
    });
    open.set(evaluation, link);
    return link;
  };
  const definitions = parsed.tools.map(({ hash: _, ...info }) => info);
  const redact = redactionFor(checked.secrets);
  return withCaller(
    { serverName: parsed.server.name, definitions },
    {
      call: (tool, input, context) => linkFor(context).call(tool, input, context),
      readResource: async (uri, context) =>
        redact(await linkFor(context).ask((link) => readFrom(link, uri, context.signal))),
      listResources: async (context) => redact(await linkFor(context).ask((link) => resourcesOf(link, context.signal))),
      redact,
    },
  );
}
