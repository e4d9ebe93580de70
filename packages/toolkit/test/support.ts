import { definePrompt, Filesystem, provide, type PromptDefinition, type Section, type Tool } from "@proviso/core";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, invokeTool, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import type { filesystemTools } from "@proviso/toolkit";

export const call = (name: string, given: object = {}) => ({ name, arguments: given });

/** A prompt with these tools, evaluated with the calls one a turn; the results, and all there is afterwards. */
export async function work(
  parts: Partial<Section> & Pick<Section, "tools">,
  calls: readonly ReturnType<typeof call>[],
  files: Readonly<Record<string, string | Uint8Array>> = {},
  more: Partial<PromptDefinition<never, never, never>> = {},
) {
  const { feedback, policies } = more;
  const prompt = definePrompt({
    key: "work",
    sections: [{ key: "s", text: "Work.", ...parts }],
    ...(feedback && { feedback }),
    ...(policies && { policies }),
  }).bind();
  const filesystem = memoryFilesystem(files);
  const session = createSession();
  const steps: ScriptedStep[] = [...calls.map((toolCall) => ({ toolCalls: [toolCall] })), { text: "done" }];
  const response = await modelAdapter(scriptedModel(steps), fakeEnvironment()).evaluate(prompt, {
    session,
    resources: [provide(Filesystem, filesystem)],
  });
  const results = response.toolResults.map(({ result }) =>
    result.success ? ((result.value as string | null) ?? result.message) : `failed: ${result.message}`,
  );
  return { results, filesystem, session, response };
}

/** One call of a tool, over these files. */
export async function invoked(
  tools: ReturnType<typeof filesystemTools>,
  name: string,
  input: object,
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<string> {
  const tool = tools.find((one) => one.name === name) as Tool<object, unknown>;
  const filesystem = memoryFilesystem(files);
  const { result } = await invokeTool(tool, input, { resources: [provide(Filesystem, filesystem)] });
  if (!result.success) return `failed: ${result.message}`;
  return typeof result.value === "string" ? result.value : result.message;
}
