// Run by the Model Context Protocol's own conformance suite: it connects to its server and does what each scenario wants
// of any client. The last argument is the address.
import { connectMcp, mcpTools } from "@proviso/mcp";
import { modelAdapter } from "@proviso/runtime";
import { invokeTool, scriptedModel } from "@proviso/runtime/testing";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"];
setTimeout(() => process.exit(2), 30_000).unref();
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}");
// It accepts a form as it is, so that defaults apply.
const elicit = async () => ({ action: "accept", content: {} });
const adapter = modelAdapter(scriptedModel(Array.from({ length: 20 }, () => ({ text: "4" }))));
await using server = await connectMcp(
  { url: process.argv.at(-1) },
  { elicit, sampling: { adapter }, ...(scenario === "sse-retry" ? { callMs: 10_000 } : {}) },
);

const inputs = { add_numbers: { a: 5, b: 3 }, valid_tool: { region: "north" } };
const offered = new Map(server.definitions.map((definition) => [definition.name, definition]));
const tools = new Map();
for (const name of offered.keys()) {
  try {
    tools.set(name, mcpTools(server, { only: [name] })[0]);
  } catch (error) {
    console.error(`${name}: ${error.message}`);
  }
}
const call = async (name, input) => {
  const { result } = await invokeTool(tools.get(name), input);
  console.error(`${name}: ${JSON.stringify(result)}`);
};

if (scenario === "json-schema-2020-12-preservation") {
  const [focal] = offered.values();
  await call("json_schema_echo", { schema: focal.inputSchema });
} else if (scenario === "http-custom-headers") {
  // A null that the schema does not allow is refused before the server is asked: it is left out.
  for (const { name, arguments: input } of context.toolCalls ?? []) {
    await call(name, Object.fromEntries(Object.entries(input).filter(([, value]) => value !== null)));
  }
} else {
  for (const name of tools.keys()) await call(name, inputs[name] ?? {});
}
if (scenario === "http-standard-headers") {
  for (const { uri } of await server.listResources()) await server.readResource(uri);
  for (const { name } of await server.listPrompts()) await server.prompt(name);
}
