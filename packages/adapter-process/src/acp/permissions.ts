import type { PermissionOption, RequestPermissionRequest, RequestPermissionResponse } from "@agentclientprotocol/sdk";

/** What an agent asks leave for. */
export interface AgentPermission {
  /** The prompt's tool that it wants to call; undefined: another action, or one that cannot be recognised. */
  readonly tool: string | undefined;
  /** The agent's own words for the action. */
  readonly title: string;
  /** "read", "edit", "execute", "fetch", …; undefined where the agent did not name the kind. */
  readonly kind: string | undefined;
  /** What it would be called with, as far as the agent shows it. */
  readonly input: unknown;
}

/**
 * - "own-tools": the prompt's tools, whose policies are asked in the call itself; all else is rejected.
 * - "all": whatever it asks for. What it does by itself is in no transaction.
 * - "none": nothing, not even the prompt's tools.
 * - a function: true allows, this once. One that throws rejects.
 */
export type AgentPermissions = "own-tools" | "all" | "none" | ((asked: AgentPermission) => boolean | Promise<boolean>);

/** The name under which agents know our tools' server. */
export const serverName = "proviso";

export const cancelled: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

/** The answer to a `session/request_permission`: one of its options, for this once where there is one. */
export async function answerPermission(
  permissions: AgentPermissions,
  request: RequestPermissionRequest,
  tools: readonly string[],
  knownTitle: string | undefined,
): Promise<RequestPermissionResponse> {
  const allowed = await isAllowed(permissions, askedOf(request, tools, knownTitle));
  const option = optionOf(request.options, allowed ? "allow" : "reject");
  return option === undefined ? cancelled : { outcome: { outcome: "selected", optionId: option.optionId } };
}

async function isAllowed(permissions: AgentPermissions, asked: AgentPermission): Promise<boolean> {
  if (permissions === "own-tools") return asked.tool !== undefined;
  if (typeof permissions === "string") return permissions === "all";
  try {
    return (await permissions(asked)) === true;
  } catch {
    return false;
  }
}

function optionOf(options: readonly PermissionOption[], what: "allow" | "reject"): PermissionOption | undefined {
  return options.find(({ kind }) => kind === `${what}_once`) ?? options.find(({ kind }) => kind === `${what}_always`);
}

function askedOf(
  request: RequestPermissionRequest,
  tools: readonly string[],
  knownTitle: string | undefined,
): AgentPermission {
  const { title, kind, rawInput } = request.toolCall;
  const shownTitle = title ?? knownTitle ?? "";
  return { tool: ownTool(shownTitle, tools), title: shownTitle, kind: kind ?? undefined, input: rawInput };
}

/**
 * Finds which of our tools is meant, by the names that agents give a server's tools: `mcp__proviso__note` (Claude
 * Code), `mcp.proviso.note` (Codex), `note (proviso MCP Server)` (Gemini CLI). It must be the whole title, so that no
 * command can carry it along; none of the three is a command of a shell.
 */
function ownTool(title: string, tools: readonly string[]): string | undefined {
  return tools.find((tool) =>
    [`mcp__${serverName}__${tool}`, `mcp.${serverName}.${tool}`, `${tool} (${serverName} MCP Server)`].includes(title),
  );
}
