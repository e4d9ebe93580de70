import { DefinitionError } from "./errors.ts";
import { describeValue, isRecord } from "./values.ts";

/** What a list may hold: what an item is, and the properties of which it has at least one. */
const items = {
  policies: ["what definePolicy makes", "function", ["check", "approve", "unknown"]],
  tools: ["what defineTool makes", "function", ["execute"]],
  providerTools: ["what defineProviderTool makes", "string", ["id"]],
  feedback: ["providers such as { name, every, provide }", "function", ["provide"]],
  slices: ["what defineSlice makes", "object", ["registered"]],
  resources: ["what provide or provideFactory makes", "function", ["create"]],
  uses: ["resource keys, [Filesystem] for example", "string", ["name"]],
  sections: ["sections such as { key, text }", "any", ["key"]],
  children: ["sections such as { key, text }", "any", ["key"]],
  examples: [
    "examples, of a task { objective, steps }, of a call { description, input, output }",
    "object",
    ["steps", "input"],
  ],
} as const;

type Items = keyof typeof items;

/**
 * Refuses what is no list, and an item that cannot be what the list is for: a policy that was ignored would let calls
 * pass. `what` begins the message: `The tools of section "a"`. What is undefined counts as left out.
 * @throws {DefinitionError} naming the item and what it has to be.
 */
export function checkList(what: string, kind: Items, list: unknown, name: string = kind): void {
  if (list === undefined) return;
  const [mustBe, type, needed] = items[kind];
  const refuse = (why: string, given: string): never => {
    throw new DefinitionError(`${what} must be a list of ${mustBe}${why}${given}.`);
  };
  if (!Array.isArray(list)) return refuse(", not ", describeValue(list));
  for (const [index, item] of (list as readonly unknown[]).entries()) {
    if (!isRecord(item) || !needed.some((key) => fits(item[key], type))) {
      const lack = needed.length > 1 ? `neither ${needed[0]} nor ${needed[1]}` : `no ${needed[0]}`;
      return refuse(`: ${name}[${index}] has ${lack}`, isRecord(item) ? "" : `. It is ${describeValue(item)}`);
    }
    if (kind === "policies") checkLists(`policy "${String(item["name"])}"`, item, "tools", "slices", "uses");
  }
}

function fits(value: unknown, type: string): boolean {
  return type === "any" ? value !== undefined : typeof value === type;
}

type Keyed = Readonly<Record<string, unknown>>;

/** Checks the lists of a definition, each under its own name. `owner` is whose they are: `prompt "app/x"`. */
export function checkLists(owner: string, definition: object, ...names: readonly Items[]): void {
  for (const name of names) checkList(`The ${name} of ${owner}`, name, (definition as Keyed)[name]);
}
