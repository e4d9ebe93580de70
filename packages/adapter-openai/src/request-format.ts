import type { JsonSchema, Message, ModelRequest, ProviderTool } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";
import { cacheMarks, type BytesOf, type CacheMarks, type Json } from "@proviso/adapter-kit";
import type { CheckedOptions } from "./options.ts";
import { changesParts } from "./settings.ts";

/** The parts of a body that are made once and kept; a body holds them wherever its API wants them. */
export interface Parts {
  readonly items: unknown;
  /** undefined without tools. */
  readonly tools: unknown;
  /** undefined without an output. */
  readonly output: unknown;
}

/** How one API writes a request: pure, each part on its own. */
export interface RequestRules {
  readonly path: string;
  /** `marks`: where a cache may begin a new stretch of its text. `bytesOf`: of the files that it holds. */
  itemsOf(message: Message, bytesOf?: BytesOf, marks?: readonly number[]): readonly Json[];
  toolOf(tool: ToolSpec): Json;
  /** A tool that the service runs. Left out: the API has none, and none is ever asked for. */
  providerToolOf?(tool: ProviderTool): Json;
  outputOf(output: NonNullable<ModelRequest["output"]>): Json;
  /** Only what was set counts; undefined takes a field away. */
  bodyOf(options: CheckedOptions, request: ModelRequest, parts: Parts): Json;
}

export interface RequestFormat {
  readonly path: string;
  /** The body as an object: a message is converted once, however many requests carry it. */
  object(options: CheckedOptions, request: ModelRequest): Record<string, unknown>;
  /** The JSON text of that very object: a message, a tool and an output's schema are each written once. */
  json(options: CheckedOptions, request: ModelRequest): string;
}

/** The mark behind a stretch of text that a cache may keep. Source: OpenAI API reference, "prompt_cache_breakpoint". */
export const breakpoint = Object.freeze({ prompt_cache_breakpoint: Object.freeze({ mode: "explicit" }) });

/** The fields with the limit of a budget in them; of two limits the smaller counts. */
export function limited(fields: Json, key: string, { maxOutputTokens }: ModelRequest): Json {
  if (maxOutputTokens === undefined) return fields;
  const own = fields[key];
  return { ...fields, [key]: typeof own === "number" ? Math.min(own, maxOutputTokens) : maxOutputTokens };
}

/** What was made of a message, a tool or an output lives as long as the message, or the schema, does. */
export function requestFormat(rules: RequestRules): RequestFormat {
  const items = kept((message: Message, bytesOf: BytesOf) => rules.itemsOf(message, bytesOf));
  const itemText = kept((message: Message, bytesOf: BytesOf) => rules.itemsOf(message, bytesOf).map(jsonOf).join(","));
  const written = bodyWriter(itemText);
  const marked = ({ messages, bytesOf }: ModelRequest, marks: CacheMarks): string =>
    messages
      .map((message) => {
        const places = marks.get(message);
        if (places === undefined) return itemText(message, bytesOf);
        return rules.itemsOf(message, bytesOf, places).map(jsonOf).join(",");
      })
      .filter((text) => text !== "")
      .join(",");
  const toolText = keptBySchema(
    ({ inputSchema }: ToolSpec) => inputSchema,
    (one, other) => one.name === other.name && one.description === other.description,
    (tool) => jsonOf(rules.toolOf(tool)),
  );
  const outputText = keptBySchema(
    ({ schema }: NonNullable<ModelRequest["output"]>) => schema,
    (one, other) => one.name === other.name,
    (output) => jsonOf(rules.outputOf(output)),
  );
  return {
    path: rules.path,
    object(options, request) {
      const { messages, tools, output, bytesOf } = request;
      const marks = cacheMarks(request);
      const parts = {
        items: messages.flatMap((message) => {
          const places = marks?.get(message);
          return places === undefined ? items(message, bytesOf) : rules.itemsOf(message, bytesOf, places);
        }),
        tools: hasTools(request) ? [...tools.map(rules.toolOf), ...providerToolsOf(rules, request)] : undefined,
        output: output && rules.outputOf(output),
      };
      return Object.fromEntries(set(rules.bodyOf(options, request, parts)));
    },
    json(options, request) {
      if (changesParts(request)) return jsonOf(this.object(options, request));
      const { tools, output } = request;
      const parts = { items: {}, tools: hasTools(request) ? {} : undefined, output: output && {} };
      const textOf = (value: unknown): string => {
        if (value === parts.tools && value !== undefined) {
          return `[${[...tools.map(toolText), ...providerToolsOf(rules, request).map(jsonOf)].join(",")}]`;
        }
        return output !== undefined && value === parts.output ? outputText(output) : jsonOf(value);
      };
      const fields = set(rules.bodyOf(options, request, parts));
      const list = fields.find(([, value]) => value === parts.items)?.[0];
      const rest = fields.filter(([key]) => key !== list).map(([key, value]) => `${jsonOf(key)}:${textOf(value)}`);
      if (list === undefined) return `{${rest.join(",")}}`;
      const [begin, end] = [`{${jsonOf(list)}:[`, `${["]", ...rest].join(",")}}`];
      const marks = cacheMarks(request);
      return marks === undefined ? written(request, begin, end) : `${begin}${marked(request, marks)}${end}`;
    },
  };
}

function hasTools({ tools, providerTools = [] }: ModelRequest): boolean {
  return tools.length > 0 || providerTools.length > 0;
}

function providerToolsOf({ providerToolOf }: RequestRules, { providerTools = [] }: ModelRequest): readonly Json[] {
  return providerToolOf === undefined ? [] : providerTools.map(providerToolOf);
}

function set(body: Json): readonly [string, unknown][] {
  return Object.entries(body).filter(([, value]) => value !== undefined);
}

function jsonOf(value: unknown): string {
  return JSON.stringify(value);
}

/** How far a conversation's body was written. */
interface Written {
  readonly messages: readonly Message[];
  /** The body up to its last item. */
  readonly text: string;
  readonly hasItems: boolean;
}

/**
 * Writes bodies whose messages come first. A history grows at its end, so the body of the previous request is extended:
 * the last body of each conversation is kept under its first message. Each request creates only one flat text.
 */
function bodyWriter(textOf: (message: Message, bytesOf: BytesOf) => string) {
  const bodies = new WeakMap<Message, Written>();
  return ({ messages, bytesOf }: ModelRequest, begin: string, end: string): string => {
    const [first] = messages;
    const last = first && bodies.get(first);
    const known = last && beginsWith(messages, last.messages) ? last : { messages: [], text: begin, hasItems: false };
    // Some messages have no items: an answer without text and calls.
    const added = messages
      .slice(known.messages.length)
      .map((message) => textOf(message, bytesOf))
      .filter((text) => text !== "");
    const comma = known.hasItems && added.length > 0 ? "," : "";
    const body = [known.text, comma, added.join(","), end].join("");
    const text = body.slice(0, body.length - end.length);
    if (first !== undefined)
      bodies.set(first, { messages: [...messages], text, hasItems: known.hasItems || added.length > 0 });
    return body;
  };
}

function beginsWith(list: readonly unknown[], beginning: readonly unknown[]): boolean {
  return beginning.length <= list.length && beginning.every((item, at) => item === list[at]);
}

function kept<Value>(make: (message: Message, bytesOf: BytesOf) => Value) {
  const known = new WeakMap<Message, Value>();
  return (key: Message, bytesOf: BytesOf): Value => {
    let value = known.get(key);
    if (value === undefined) {
      value = make(key, bytesOf);
      known.set(key, value);
    }
    return value;
  };
}

/** Specs are made anew for each evaluation, their schemas are not. The last text of a schema is kept. */
function keptBySchema<Spec>(
  schemaOf: (spec: Spec) => JsonSchema,
  same: (one: Spec, other: Spec) => boolean,
  make: (spec: Spec) => string,
): (spec: Spec) => string {
  const known = new WeakMap<JsonSchema, { readonly spec: Spec; readonly text: string }>();
  return (spec) => {
    const last = known.get(schemaOf(spec));
    if (last !== undefined && same(last.spec, spec)) return last.text;
    const text = make(spec);
    known.set(schemaOf(spec), { spec, text });
    return text;
  };
}
