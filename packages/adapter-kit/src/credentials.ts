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

/** The secrets in an address: `user:password`, and the password alone. None where there is no password. */
export function credentialsIn(address: unknown): readonly string[] {
  const { username = "", password = "" } = (typeof address === "string" && URL.parse(address)) || {};
  if (password === "") return [];
  const decoded = decodedText(password);
  return [`${username}:${password}@`, ...[password, decoded].filter(isSecret)];
}

/** The secrets in the addresses that an error, or the cause of one, quotes. */
export function credentialsInError(error: unknown): readonly string[] {
  const causes = [error, (error as { readonly cause?: unknown } | undefined)?.cause];
  return causes.flatMap((at) => addressesIn(messageOf(at)).flatMap(credentialsIn));
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
