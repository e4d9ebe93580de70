import { DefinitionError } from "@proviso/core";
import { environmentVariable } from "@proviso/adapter-kit";
import type { CheckedOptions } from "./options.ts";

/**
 * The headers of every request; those of the options are laid over the rest.
 * @throws {DefinitionError} for a name or a value that HTTP does not allow. It does not show the value: that may be a key.
 */
export function requestHeaders({ apiKey, organization, headers = {} }: CheckedOptions): Headers {
  const made = new Headers();
  const all: readonly (readonly [string, string | undefined])[] = [
    ["accept", "application/json"],
    ["content-type", "application/json"],
    ["user-agent", "proviso"],
    ["authorization", `Bearer ${apiKey}`],
    ["openai-organization", organization ?? environmentVariable("OPENAI_ORG_ID")],
    ["openai-project", environmentVariable("OPENAI_PROJECT_ID")],
    ...environmentHeaders(),
    ...Object.entries(headers),
  ];
  for (const [name, value] of all) {
    if (value !== undefined && !isSet(made, name, value)) {
      throw new DefinitionError(`The header ${JSON.stringify(name)} has a name or a value that HTTP does not allow.`);
    }
  }
  return made;
}

function isSet(headers: Headers, name: string, value: unknown): boolean {
  if (typeof value !== "string") return false;
  try {
    headers.set(name, value);
    return true;
  } catch {
    return false;
  }
}

/** The headers in OPENAI_CUSTOM_HEADERS, as the SDK reads them: one in each line. */
export function environmentHeaders(): readonly (readonly [string, string])[] {
  const lines = environmentVariable("OPENAI_CUSTOM_HEADERS")?.split("\n") ?? [];
  return lines.flatMap((line) => {
    const colon = line.indexOf(":");
    return colon < 0 ? [] : [[line.slice(0, colon).trim(), line.slice(colon + 1).trim()] as const];
  });
}
