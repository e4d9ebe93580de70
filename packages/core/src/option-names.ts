import { describeValue } from "./values.ts";
import { DefinitionError } from "./errors.ts";

/** Every name of an options' type, each once: the compiler finds one that is missing or too much. */
export type OptionNames<T> = { readonly [K in keyof T]-?: true };

/** What the same thing is called elsewhere; of several the first counts that is known at the place. */
const elsewhere: ReadonlyMap<string, readonly string[]> = new Map([
  ["maxTokens", ["maxOutputTokens", "maxTotalTokens"]],
  ["max_tokens", ["maxOutputTokens"]],
  ["max_completion_tokens", ["maxOutputTokens"]],
  ["timeout", ["timeoutMs", "deadline"]],
  ["timeoutMs", ["deadline"]],
  ["abortSignal", ["signal"]],
  ["maxRetries", ["maxAttempts", "throttle"]],
  ["retries", ["maxAttempts", "throttle"]],
  ["maxSteps", ["maxTurns"]],
  ["maxIterations", ["maxTurns"]],
  ["stopWhen", ["maxTurns"]],
  ["stopSequences", ["stop"]],
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
  if (typeof given !== "object" || given === null) return;
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(names, name) || (given as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    throw new DefinitionError(`${what} has no option ${shown(name)}. ${pointer(name, Object.keys(names))}`);
  }
}

function shown(name: string): string {
  return /^[\w$]{1,60}$/.test(name) ? name : describeValue(name);
}

function pointer(name: string, names: readonly string[]): string {
  const meant = elsewhere.get(name)?.find((other) => names.includes(other)) ?? nearest(name, names);
  if (meant !== undefined) return `Did you mean ${meant}?`;
  if (names.length === 0) return "It takes none.";
  const more = names.length > mostListed ? ", and more" : "";
  return `It takes ${names.slice(0, mostListed).join(", ")}${more}.`;
}

/** The one that is spelled alike, capitals and underscores aside. */
function nearest(name: string, names: readonly string[]): string | undefined {
  if (name.length > 60) return undefined;
  const plain = (text: string): string => text.toLowerCase().replaceAll(/[_-]/g, "");
  const near = names
    .map((other) => ({ other, distance: distanceOf(plain(name), plain(other)) }))
    .toSorted((a, b) => a.distance - b.distance)[0];
  return near !== undefined && near.distance <= Math.min(2, Math.floor(name.length / 3)) ? near.other : undefined;
}

/**
 * Letters to change, add, take away, or exchange with their neighbour. Source: Damerau, "A technique for computer
 * detection and correction of spelling errors", in its restricted form.
 */
function distanceOf(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    rows.push([i]);
    for (let j = 1; j <= b.length; j++) {
      const changed = at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isExchanged = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const exchanged = isExchanged ? at(i - 2, j - 2) + 1 : Infinity;
      rows[i]?.push(Math.min(changed, exchanged, at(i - 1, j) + 1, at(i, j - 1) + 1));
    }
  }
  return at(a.length, b.length);
}
