import {
  definePrompt,
  isEvent,
  type Binding,
  type Resources,
  type Session,
  type Tool,
  type ToolInvoked,
  type ToolPolicy,
} from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import type { Environment } from "../environment.ts";
import { adapterOptionNames } from "../adapter-options.ts";
import { modelAdapter } from "../model-adapter.ts";
import { scriptedModel } from "./scripted-model.ts";

const { throttle: _throttle, toolChoice: _toolChoice, journal: _journal, ...environmentNames } = adapterOptionNames;

/**
 * One call through the executor, as in an evaluation: arguments validated, policies asked, changes undone if it fails.
 * `input` is sent as the model would send it, as JSON.
 */
export async function invokeTool<Input, Value>(
  tool: Tool<Input, Value>,
  input: Input,
  options: {
    readonly session?: Session | undefined;
    /** Bindings, opened and closed with the call; what `openResources` opened, left open; or a list of both. */
    readonly resources?: readonly (Binding | Resources)[] | Resources | undefined;
    readonly policies?: readonly ToolPolicy[] | undefined;
  } & Environment = {},
): Promise<ToolInvoked<Input, Value>> {
  checkOptionNames("invokeTool", options, { session: true, resources: true, policies: true, ...environmentNames });
  const { session, resources, policies, ...environment } = options;
  const sections = [{ key: "tool", text: "Call the tool.", tools: [tool as Tool] }];
  const prompt = definePrompt({ ns: "testing", key: "invoke-tool", sections }).bind({});
  const model = scriptedModel([{ toolCalls: [{ name: tool.name, arguments: input as object }] }, { text: "Done." }]);
  const { toolResults } = await modelAdapter(model, environment).evaluate(prompt, { session, resources, policies });
  const invoked = toolResults.find((event) => isEvent(event, tool as Tool));
  // Every call of a turn is recorded, so it is there.
  return invoked as ToolInvoked<Input, Value>;
}
