import { DefinitionError } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import type { OpenAIConnection, OpenAIOptions } from "./options.ts";

/** What a client has of its own. */
const ownOfClient = ["apiKey", "organization", "headers", "fetch", "dangerouslyAllowBrowser"] as const;

/**
 * Checks a given client and what is given beside it.
 * @throws {DefinitionError} for what is no client, and for an option that would have no effect beside one.
 */
export function checkClient(options: OpenAIOptions): void {
  const { client }: { readonly client?: unknown } = options;
  if (client === undefined) return;
  if (typeof client !== "object" || client === null) {
    throw new DefinitionError(
      `The option client must be a client of the package openai, not ${describeValue(client)}.`,
    );
  }
  const without = [...ownOfClient, ...(addressOf(client) === undefined ? [] : (["baseURL"] as const))].filter((name) =>
    isGiven(options[name]),
  );
  if (without.length === 0) return;
  throw new DefinitionError(
    `Beside a client, ${without.join(", ")} would have no effect: it has its own key, organization, headers, fetch and ` +
      "address. Give them to the client, or leave the client out.",
  );
}

/** @throws {DefinitionError} for a client without the method that sends requests of the API. */
export function checkCreate(client: OpenAIConnection["client"], api: "responses" | "chat"): void {
  if (client === undefined) return;
  const { responses, chat }: { readonly responses?: Creating; readonly chat?: { readonly completions?: Creating } } =
    client as object;
  const [method, creating] =
    api === "responses" ? ["responses.create", responses] : ["chat.completions.create", chat?.completions];
  if (typeof creating?.create === "function") return;
  throw new DefinitionError(
    `The option client must be a client of the package openai: this one has no ${method}, which { api: "${api}" } calls.`,
  );
}

interface Creating {
  readonly create?: unknown;
}

/** The address that a client has; undefined: none that can be read. */
export function addressOf(client: object): string | undefined {
  const { baseURL } = client as { readonly baseURL?: unknown };
  const address = present(baseURL);
  return address !== undefined && URL.canParse(address) ? address : undefined;
}

/** A text without the blanks around it; undefined for a blank one, and for what is no text. */
export function present(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** A blank text is as if left out. */
function isGiven(value: unknown): boolean {
  return typeof value === "string" ? present(value) !== undefined : value !== undefined;
}
