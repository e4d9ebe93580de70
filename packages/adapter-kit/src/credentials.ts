import { addressesIn, isSecret } from "@proviso/runtime/internal";
import { messageOf } from "@proviso/core/internal";

/** Names of headers that carry no credential. The value of any other header is a secret. */
const harmlessHeaders: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "anthropic-beta",
  "anthropic-version",
  "baggage",
  "cache-control",
  "content-type",
  "http-referer",
  "openai-beta",
  "openai-organization",
  "openai-project",
  "origin",
  "referer",
  "traceparent",
  "tracestate",
  "user-agent",
  "x-client-request-id",
  "x-correlation-id",
  "x-request-id",
  "x-title",
]);

/**
 * The secrets in headers: the values of all but a few that are known to carry none, and what stands in them after
 * "Bearer" or inside "Basic". Values of fewer than 8 characters are none.
 */
export function headerSecrets(headers: unknown): readonly string[] {
  const entries: readonly (readonly [string, unknown])[] =
    headers instanceof Headers ? [...headers] : Object.entries(Object(headers) as object);
  return entries
    .filter(([name]) => !harmlessHeaders.has(name.trim().toLowerCase()))
    .flatMap(([, value]) => (typeof value === "string" ? credentialsOf(value.trim()) : []))
    .filter(isSecret);
}

function credentialsOf(value: string): readonly string[] {
  const [, scheme = "", credential = ""] = /^([\w-]+)\s+(.+)$/s.exec(value) ?? [];
  if (credential === "") return [value];
  return [value, credential, ...(scheme.toLowerCase() === "basic" ? userAndPassword(credential) : [])];
}

function userAndPassword(base64: string): readonly string[] {
  try {
    const text = new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
    return [text, text.slice(text.indexOf(":") + 1)];
  } catch {
    // Then it is not base64.
    return [];
  }
}

/**
 * The secrets in an address: `user:password@` and the password alone, what follows "?", and what is given there under the
 * name of a key.
 */
export function credentialsIn(address: unknown): readonly string[] {
  const { ofUser, query, keys } = partsOf(address);
  return [...ofUser, ...query, ...keys];
}

function partsOf(address: unknown): Readonly<Record<"ofUser" | "query" | "keys", readonly string[]>> {
  const url = typeof address === "string" ? URL.parse(address) : null;
  if (url === null) return { ofUser: [], query: [], keys: [] };
  const { username, password, search, searchParams } = url;
  const passwords = [password, decodedText(password)].filter(isSecret);
  const named = [...searchParams].filter(([name]) => secretName.test(name) || queryName.test(name));
  return {
    ofUser: password === "" ? [] : [`${username}:${password}@`, ...passwords],
    query: [search].filter(isSecret),
    keys: named.map(([, value]) => value).filter(isSecret),
  };
}

/** Names of keys in the addresses of some services, beside `secretName`. */
const queryName = /^(?:code|jwt|sas|sig|signature)$/i;

/**
 * The secrets in the addresses that an error, or the cause of one, quotes or has in its `url`. A query without a key is
 * none: most services have one in their own addresses.
 */
export function credentialsInError(error: unknown): readonly string[] {
  const causes = [error, (error as { readonly cause?: unknown } | undefined)?.cause];
  return causes.flatMap((at) => {
    const { url } = Object(at) as { readonly url?: unknown };
    // Some SDKs put a path behind the query of a base URL.
    return [...addressesIn(messageOf(at)), String(url)]
      .flatMap((address) => [address, address.replace(/(\?[^/]*)\/.*$/s, "$1")])
      .flatMap((address) => {
        const { ofUser, query, keys } = partsOf(address);
        return keys.length === 0 ? ofUser : [...ofUser, ...query, ...keys];
      });
  });
}

function decodedText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** PWD and OLDPWD are folders. */
const secretName =
  /key|token|secret|passw|passphrase|pass(?![a-z])|auth(?![a-z])|authorization|credential|(?<!^|^old)pwd/i;

/**
 * The secrets that a command is given and may print: variables whose name says that they hold a secret, passwords in
 * addresses, and what follows an option of such a name (`--api-key sk-…`, `--api-key=sk-…`).
 */
export function commandSecrets(
  variables: Readonly<Record<string, string | undefined>>,
  args: readonly string[],
): readonly string[] {
  const trimmed = Object.entries(variables).map(([name, value]) => [name, value?.trim()] as const);
  const named = trimmed.filter(([name]) => secretName.test(name)).map(([, value]) => value);
  const addresses = [...trimmed.map(([, value]) => value), ...args].flatMap(credentialsIn);
  return [...[...named, ...argumentsOf(args)].filter(isSecret), ...addresses];
}

function argumentsOf(args: readonly string[]): readonly (string | undefined)[] {
  return args.flatMap((arg, index) => {
    const [, name = "", value] = /^--?([\w-]+)(?:=(.*))?$/s.exec(arg) ?? [];
    return secretName.test(name) ? [value ?? args[index + 1]] : [];
  });
}
