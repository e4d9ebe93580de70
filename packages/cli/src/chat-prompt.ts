import { definePrompt, type Prompt, type Slice } from "@proviso/core";
import { jsonSchemaOf, plainSchema, schemasOf, textPrompt } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { boundPrompt } from "./params.ts";
import { promptAt, type FoundPrompt } from "./prompts.ts";
import { UsageError } from "./usage.ts";
import type { World } from "./world.ts";

/** Makes the prompt of each turn. */
export interface ChatPrompt {
  readonly slices: readonly Slice[];
  bind(line: string): Promise<Prompt> | Prompt;
}

/** What a command line says of the prompt of a chat. */
export interface GivenChat {
  readonly reference: string | undefined;
  readonly pairs: readonly string[];
  readonly message: string | undefined;
}

/**
 * The prompt of a chat: that of a module or of a text with a placeholder left over, which each line fills; a text without
 * one, as instructions; or none.
 * @throws {UsageError} where it is not clear what a line fills, and for params that do not fit.
 */
export async function chatPrompt(given: GivenChat, world: World): Promise<ChatPrompt> {
  const { reference, pairs, message } = given;
  if (reference === undefined) {
    if (pairs.length > 0 || message !== undefined) throw new UsageError("chat without a prompt takes no params");
    return { slices: [], bind: textPrompt };
  }
  const found = await promptAt(reference, world.cwd);
  const name = messageParam(found, given);
  if (name === undefined) return await instructions(found, pairs, world);
  const bind = (line: string): Promise<Prompt> =>
    boundPrompt(found, { pairs: [...pairs, `${name}=${line}`], file: undefined }, world);
  // What does not fit is refused before the first line is read.
  await bind("…");
  return { slices: found.template.slices, bind };
}

/** A text that needs nothing more is what the model reads before each line. */
async function instructions(found: FoundPrompt, pairs: readonly string[], world: World): Promise<ChatPrompt> {
  const bound = await boundPrompt(found, { pairs, file: undefined }, world);
  const instructions = bound.render().user;
  const params = plainSchema<Readonly<Record<"instructions" | "message", string>>>(
    { type: "object", properties: { instructions: { type: "string" }, message: { type: "string" } } },
    () => [],
  );
  const { key } = found.template;
  const template = definePrompt({
    key,
    params,
    sections: [
      { key: "instructions", text: "{{instructions}}" },
      { key: "message", text: "{{message}}", role: "user" },
    ],
  });
  const bind = (message: string): Prompt => template.bind({ instructions, message });
  return { slices: [], bind };
}

/** undefined: a text that needs no more params. */
function messageParam({ template, isText }: FoundPrompt, { pairs, message, reference }: GivenChat): string | undefined {
  const { params } = schemasOf(template);
  const schema = params === undefined ? {} : jsonSchemaOf(params, "input");
  const names = isRecord(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  if (message !== undefined) {
    if (names.includes(message)) return message;
    throw new UsageError(`${reference} has no param ${message}, but ${names.join(", ") || "none"}`);
  }
  const given = new Set(pairs.map((pair) => pair.slice(0, pair.indexOf("="))));
  const free = names.filter((name) => !given.has(name));
  const required = free.filter((name) => (schema["required"] as readonly string[] | undefined)?.includes(name));
  const [only, ...others] = required.length > 0 ? required : free;
  if (others.length > 0) {
    throw new UsageError(
      `which param takes the lines? --message ${[only, ...others].join(", --message ")}; give the others`,
    );
  }
  if (only === undefined && !isText) throw new UsageError(`${reference} has no param that could take the lines`);
  return only;
}
