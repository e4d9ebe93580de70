import { defineConfig } from "@proviso/cli";
import { agentAdapter } from "@proviso/runtime";

// The config of the tests whose adapter is an agent.
// oxlint-disable-next-line import/no-default-export -- the form of a config
export default defineConfig({
  adapter: (options) =>
    agentAdapter(
      {
        name: "shouting",
        model: "shouting-1",
        async drive({ rendered }) {
          const text = rendered.user.toUpperCase();
          return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" };
        },
      },
      options,
    ),
});
