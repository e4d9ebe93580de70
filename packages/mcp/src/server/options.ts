import {
  DefinitionError,
  defineTool,
  type Binding,
  type PromptTemplate,
  type ProviderAdapter,
  type Resources,
  type Session,
  type Tool,
  type ToolPolicy,
  type ToolSchema,
} from "@proviso/core";
import { boundAgain, describeValue, jsonSchemaOf, schemasOf } from "@proviso/core/internal";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import type { Environment } from "@proviso/runtime";
import { checkAdapterOptions, environmentNames } from "@proviso/runtime/internal";
import { toolName } from "../names.ts";

/** What `serveMcp` takes. Every call is an evaluation of its own: a transaction on `session` and `resources`. */
export interface ServeMcpOptions extends Environment {
  /** The name that clients read. */
  readonly name: string;
  /** The version that clients read. Default "0.0.0". */
  readonly version?: string | undefined;
  /** Offered by their own names. */
  readonly tools?: readonly Tool[] | undefined;
  /** Offered as tools `ns_key`: params in, output as structured content; needs `adapter`. */
  readonly evaluations?: readonly PromptTemplate<never, unknown>[] | undefined;
  /** Offered as prompts `ns_key`: rendered, not evaluated. Params must be texts, numbers or booleans. */
  readonly prompts?: readonly PromptTemplate<never, unknown>[] | undefined;
  /** The adapter of `evaluations`, and of evaluations inside tools. */
  readonly adapter?: ProviderAdapter | undefined;
  /** The session of every call. Default: a new one for each. */
  readonly session?: Session | undefined;
  /** Bindings, opened and closed with each call, or what `openResources` opened, left open. */
  readonly resources?: readonly Binding[] | Resources | undefined;
  /** Run before each call. */
  readonly policies?: readonly ToolPolicy[] | undefined;
  /** Milliseconds of one call. Default 300,000. */
  readonly callMs?: number | undefined;
}

/** What `listen` takes. */
export interface ListenOptions {
  /** 0: a free one. Default 0. */
  readonly port?: number | undefined;
  /** What every request has to show as its bearer token. Default: 256 random bits. */
  readonly secret?: string | undefined;
}

/** A prompt that is served. */
export interface ServedPrompt {
  readonly name: string;
  readonly template: PromptTemplate<never, unknown>;
  readonly args: readonly ServedArgument[];
}
interface ServedArgument {
  readonly name: string;
  readonly description: string | undefined;
  readonly required: boolean;
  readonly type: "string" | "number" | "boolean";
}

/** What is served, checked. */
export interface Served {
  readonly options: ServeMcpOptions & { readonly callMs: number };
  /** The tools, those that evaluate a prompt among them. */
  readonly tools: readonly Tool[];
  readonly prompts: readonly ServedPrompt[];
}

const optionNames = {
  ...environmentNames,
  name: true,
  version: true,
  tools: true,
  evaluations: true,
  prompts: true,
  adapter: true,
  session: true,
  resources: true,
  policies: true,
  callMs: true,
} as const satisfies OptionNames<ServeMcpOptions>;

/** @throws {DefinitionError} for nothing to serve, names that meet, evaluations without an adapter, prompts whose params are no texts. */
export function servedBy(given: ServeMcpOptions): Served {
  checkOptionNames("serveMcp", given, optionNames);
  const { name, tools = [], evaluations = [], prompts = [], adapter, callMs = 300_000 } = given;
  if (typeof name !== "string" || name === "")
    throw new DefinitionError(`serveMcp needs a name: a text, not ${describeValue(name)}.`);
  if (!(Number.isFinite(callMs) && callMs > 0))
    throw new DefinitionError(
      `The option callMs must be a positive number of milliseconds, not ${describeValue(callMs)}.`,
    );
  const { clock, random, newId, logger, observers, secrets } = given;
  checkAdapterOptions({ clock, random, newId, logger, observers, secrets });
  if (tools.length + evaluations.length + prompts.length === 0)
    throw new DefinitionError("serveMcp has nothing to serve: give tools, evaluations or prompts.");
  if (evaluations.length > 0 && adapter === undefined)
    throw new DefinitionError("serveMcp evaluates prompts with an adapter: give adapter beside evaluations.");
  const all = [...tools, ...evaluations.map((template) => evaluating(template, adapter as ProviderAdapter))];
  const served = prompts.map(servedPrompt);
  checkUnique(
    "tools",
    all.map((tool) => tool.name),
  );
  checkUnique(
    "prompts",
    served.map((prompt) => prompt.name),
  );
  return { options: { ...given, callMs }, tools: all, prompts: served };
}

/** Characters of a header's value that arrive as they are sent, on every way. */
const sendable = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** @throws {DefinitionError} for a port that is none, and for a secret that no request could show. */
export function checkListenOptions(given: ListenOptions | undefined): void {
  checkOptionNames("listen", given, { port: true, secret: true } satisfies OptionNames<ListenOptions>);
  const { port = 0, secret = "left out" } = given ?? {};
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new DefinitionError(
      `The option port of listen must be a whole number from 0 to 65535, not ${describeValue(port)}.`,
    );
  if (typeof secret !== "string" || !sendable.test(secret))
    throw new DefinitionError(
      "The option secret of listen must be a text of printable ASCII characters that neither begins nor ends with a space.",
    );
}

function checkUnique(what: string, names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new DefinitionError(`Two ${what} would be served by the name ${twice}.`);
}

/** A tool that evaluates a prompt. Its call fails where the evaluation does. */
function evaluating(template: PromptTemplate<never, unknown>, adapter: ProviderAdapter): Tool {
  const { params, output } = schemasOf(template);
  const input = params ?? { type: "object", properties: {} };
  return defineTool({
    name: nameOf(template),
    description: `Evaluates the prompt ${template.name}.`,
    input: input as ToolSchema,
    ...(output === undefined ? {} : { output: jsonSchemaOf(output, "output") }),
    execute: async (given, { evaluate }) => (await evaluate(boundAgain(template, given), { adapter })).output,
  }) as Tool;
}

function nameOf({ ns, key }: PromptTemplate<never, unknown>): string {
  return toolName("", `${ns}_${key}`);
}

function servedPrompt(template: PromptTemplate<never, unknown>): ServedPrompt {
  const { params } = schemasOf(template);
  const schema = params === undefined ? {} : jsonSchemaOf(params, "input");
  const properties = isRecord(schema["properties"]) ? schema["properties"] : {};
  const required = Array.isArray(schema["required"]) ? (schema["required"] as readonly unknown[]) : [];
  const args = Object.entries(properties).map(([name, property]): ServedArgument => {
    const { type, description } = isRecord(property) ? property : {};
    const kind = type === "integer" ? "number" : type;
    if (kind !== "string" && kind !== "number" && kind !== "boolean") {
      throw new DefinitionError(
        `The prompt ${template.name} cannot be served: its param ${name} must be a text, a number or a boolean.`,
      );
    }
    const text = typeof description === "string" ? description : undefined;
    return { name, description: text, required: required.includes(name), type: kind };
  });
  return { name: nameOf(template), template, args };
}
