import { definePrompt, provideFactory, resourceKey } from "@proviso/core";
import { defineEval } from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";

// An eval for `proviso eval`: its model waits for an abort, and what its attempts open never closes.
const Stuck = resourceKey<object>("stuck");
const adapter = modelAdapter({
  name: "waiting",
  model: "waiting-1",
  capabilities: { tools: true, nativeOutput: true },
  generate: ({ signal }) =>
    new Promise((_, fail) =>
      signal.addEventListener("abort", () => {
        console.error("interrupted once");
        fail(signal.reason as Error);
      }),
    ),
});
const create = (): object => {
  console.error("an attempt has begun");
  return {};
};
export const stuck = defineEval({
  name: "stuck",
  data: [{ id: "one" }],
  adapter,
  resources: () => [provideFactory(Stuck, create, { eager: true, close: () => new Promise(() => {}) })],
  prompt: () => definePrompt({ key: "wait", text: "Wait." }).bind(),
  scorers: { none: () => 1 },
});
