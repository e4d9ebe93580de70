import { definePrompt } from "@proviso/core";
import { defineEval } from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";

// An eval whose service is down.
const adapter = modelAdapter({
  name: "down",
  model: "down-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate() {
    return { failure: "throttle", kind: "server_error", retry: false, message: "Service down." };
  },
});
const judge = definePrompt({ key: "judge", text: "Spam?" });
export const down = defineEval({
  name: "down",
  data: Array.from({ length: 6 }, (_, at) => ({ id: `row-${at}` })),
  adapter,
  prompt: () => judge.bind(),
  scorers: { correct: ({ output }) => output === "spam" },
  gates: { correct: { atLeast: 0.5 } },
});
