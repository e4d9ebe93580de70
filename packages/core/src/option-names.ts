import { describeValue } from "./values.ts";
import { DefinitionError } from "./errors.ts";
import { nearestName } from "./nearest-name.ts";

/** Every name of an options' type, each once: the compiler finds one that is missing or too much. */
export type OptionNames<T> = { readonly [K in keyof T]-?: true };

/**
 * What the same thing is called elsewhere; of several the first counts that is known at the place. `known=shown`: what
 * the message shows where `known` is one of the place's names.
 */
const elsewhere: ReadonlyMap<string, readonly string[]> = new Map([
  ["id", ["key", "name"]],
  ["maxTokens", ["maxTotalTokens", "maxOutputTokens", "settings=settings: { maxOutputTokens }"]],
  ["max_tokens", ["maxTotalTokens", "maxOutputTokens", "settings=settings: { maxOutputTokens }"]],
  ["max_completion_tokens", ["maxOutputTokens", "settings=settings: { maxOutputTokens }"]],
  ["maxOutputTokens", ["settings=settings: { maxOutputTokens }"]],
  ["temperature", ["settings=settings: { temperature }"]],
  ["topP", ["settings=settings: { topP }"]],
  ["top_p", ["topP", "settings=settings: { topP }"]],
  ["seed", ["settings=settings: { seed }"]],
  ["stop", ["settings=settings: { stop }"]],
  ["deps", ["resources"]],
  ["usageLimits", ["budget"]],
  ["usage_limits", ["budget"]],
  ["modelSettings", ["settings"]],
  ["model_settings", ["settings"]],
  ["timeout", ["timeoutMs", "deadline"]],
  ["timeoutMs", ["deadline"]],
  ["abortSignal", ["signal"]],
  ["maxRetries", ["maxAttempts", "throttle", "maxTurns=the adapter's throttle: { maxAttempts }"]],
  ["retries", ["maxAttempts", "throttle", "maxTurns=the adapter's throttle: { maxAttempts }"]],
  ["maxConcurrency", ["concurrency"]],
  ["max_concurrency", ["concurrency"]],
  ["maxSteps", ["maxTurns"]],
  ["maxIterations", ["maxTurns"]],
  ["stopWhen", ["maxTurns"]],
  ["stopSequences", ["stop", "settings=settings: { stop }"]],
  ["needsApproval", ["execute=a policy of requireApproval"]],
  ["arguments", ["input"]],
  ["args", ["input"]],
  ["updatedInput", ["input"]],
  ["inputSchema", ["input"]],
  ["parameters", ["input"]],
  ["outputSchema", ["output"]],
  ["responseFormat", ["output"]],
  ["schema", ["input", "output"]],
  ["handler", ["execute"]],
  ["run", ["execute"]],
  ["func", ["execute"]],
  ["invoke", ["execute"]],
  ["callback", ["execute"]],
  ["system", ["sections"]],
  ["instructions", ["sections"]],
  ["prompt", ["text"]],
  ["template", ["text"]],
  ["content", ["text"]],
  ["tools", ["sections"]],
  ["inputVariables", ["params"]],
  ["history", ["messages"]],
  ["endpoint", ["baseURL"]],
  ["url", ["baseURL"]],
]);

/** Names in a message. */
const mostListed = 14;

/**
 * Refuses an option that the function does not know, and points at the one that may be meant. `what` names the owner of
 * the options: "openai", `The tool "t"`. An option that is undefined counts as left out.
 * @throws {DefinitionError} naming the option.
 */
export function checkOptionNames(what: string, given: object | undefined, names: object): void {
  if (given === undefined) return;
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new DefinitionError(`${what} takes its options as an object, not ${describeValue(given)}.`);
  }
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name) || (given as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    throw new DefinitionError(`${what} has no option ${shown(name)}. ${pointer(name, Object.keys(names))}`);
  }
}

function shown(name: string): string {
  return /^[\w$]{1,60}$/.test(name) ? name : describeValue(name);
}

function pointer(name: string, names: readonly string[]): string {
  const other = elsewhere.get(name)?.find((other) => names.includes(other.split("=")[0]!));
  const meant = other?.split("=").at(-1) ?? nearestName(name, names);
  if (meant !== undefined) return `Did you mean ${meant}?`;
  if (names.length === 0) return "It takes none.";
  const more = names.length > mostListed ? ", and more" : "";
  return `It takes ${names.slice(0, mostListed).join(", ")}${more}.`;
}
