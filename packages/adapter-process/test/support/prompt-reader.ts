import type { ConformanceMessage, ConformanceRequest } from "@proviso/adapter-kit/conformance";

const blocks = /^<(system|tools|user|assistant|tool-result)((?: [^\n]*)?)>\n([^]*?)\n<\/\1>$/gm;

/** What a prompt of CMD-2 says, read back. */
export function readPrompt(prompt: string): ConformanceRequest {
  const found = [...prompt.matchAll(blocks)].map(([, name = "", attributes = "", text = ""]) => ({
    name,
    attributes,
    text: text.replaceAll(/^\\(?=\\*<\/?(?:system|tools|user|assistant|tool-result)\b)/gm, ""),
  }));
  if (found.length === 0) return { messages: [{ role: "user", text: prompt }], body: { prompt } };
  const tools = found.find(({ name }) => name === "tools")?.text;
  const choice = /^Tool choice: (none|required|\{.*\})/m.exec(tools ?? "")?.[1];
  const messages = found.flatMap(({ name, attributes, text }): readonly ConformanceMessage[] => {
    if (name === "system" || name === "user") return [{ role: name, text }];
    if (name === "assistant") return [readAnswer(text)];
    const callId = /^ id=("(?:[^"\\]|\\.)*")/.exec(attributes)?.[1] ?? '""';
    return name === "tools" ? [] : [{ role: "tool", text, callId: JSON.parse(callId) as string }];
  });
  return { messages, toolChoice: choice, body: { prompt, ...(tools === undefined ? {} : readTools(tools)) } };
}

type Calls = NonNullable<ConformanceMessage["toolCalls"]>;

function readAnswer(said: string): ConformanceMessage {
  if (!/^\{("text":[^]*,)?"toolCalls":\[[^]*\]\}$/.test(said)) return { role: "assistant", text: said };
  const { text = "", toolCalls } = JSON.parse(said) as { readonly text?: string; readonly toolCalls: Calls };
  return { role: "assistant", text, toolCalls };
}

/** By names that no service's setting has. */
function readTools(text: string): object {
  const described = [...text.matchAll(/^Tool (\S+): (.*)\nArguments, as JSON Schema: (.*)$/gm)];
  return {
    offered: described.map(([, name, what, schema = ""]) => ({ name, what, takes: JSON.parse(schema) as object })),
  };
}
