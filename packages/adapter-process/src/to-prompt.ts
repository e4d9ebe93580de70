import type { Message, ModelRequest, ToolChoice } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";

/**
 * A request as plain text: one block for the system text, the tools and each message, in the form
 *
 *     <user>
 *     …
 *     </user>
 *
 * with the names `system`, `tools`, `user`, `assistant` and `tool-result`. A lone user message without tools is its
 * text, with nothing around it.
 */
export function toPrompt({
  messages,
  tools,
  toolChoice,
}: Pick<ModelRequest, "messages" | "tools" | "toolChoice">): string {
  const [first] = messages;
  if (messages.length === 1 && first?.role === "user" && tools.length === 0) return first.text;
  const system = messages.filter(({ role }) => role === "system").map(blockOf);
  const rest = messages.filter(({ role }) => role !== "system").map(blockOf);
  const described = tools.length === 0 ? [] : [block("tools", describe(tools, toolChoice))];
  return `${[...system, ...described, ...rest].join("\n\n")}\n`;
}

function blockOf(message: Message): string {
  switch (message.role) {
    case "system":
    case "user":
      return block(message.role, message.text);
    case "assistant":
      return block("assistant", answered(message));
    case "tool": {
      const { callId: id, name, isError, text } = message;
      const attributes = ` id=${JSON.stringify(id)} name=${JSON.stringify(name)}${isError ? " error" : ""}`;
      return block("tool-result", text, attributes);
    }
  }
}

/** Writes an assistant's message as it was to be answered: text, or the object with its calls. */
function answered({ text, toolCalls }: Extract<Message, { readonly role: "assistant" }>): string {
  if (toolCalls.length === 0) return text;
  return JSON.stringify({ ...(text === "" ? {} : { text }), toolCalls });
}

function block(name: string, text: string, attributes = ""): string {
  return `<${name}${attributes}>\n${escaped(text)}\n</${name}>`;
}

/** A line that looks like a mark of ours gets a backslash in front, so that no text can end its block. */
function escaped(text: string): string {
  return text.replaceAll(/^(?=\\*<\/?(?:system|tools|user|assistant|tool-result)\b)/gm, "\\");
}

function describe(tools: readonly ToolSpec[], toolChoice: ToolChoice | undefined): string {
  const lines = tools.map(({ name, description, inputSchema }) =>
    [`Tool ${name}: ${description}`, `Arguments, as JSON Schema: ${JSON.stringify(inputSchema)}`].join("\n"),
  );
  return [...lines, `${howToCall}${choice(toolChoice)}`].join("\n\n");
}

const howToCall =
  "To call tools, answer with one JSON object and nothing else: " +
  '{"text":"what you say beside it","toolCalls":[{"id":"call_1","name":"the tool","arguments":{}}]}. ' +
  "Each call has an id of its own. The results come with the next request. To call none, answer without toolCalls.";

function choice(toolChoice: ToolChoice | undefined): string {
  if (toolChoice === undefined || toolChoice === "auto") return "";
  if (toolChoice === "none") return "\nTool choice: none. Call no tool now.";
  if (toolChoice === "required") return "\nTool choice: required. Call at least one tool now.";
  return `\nTool choice: ${JSON.stringify(toolChoice)}. Call this tool now.`;
}
