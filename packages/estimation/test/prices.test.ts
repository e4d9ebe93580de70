import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";

// Processes and a disk that others use, too.
vi.setConfig({ testTimeout: 300_000 });

const program = `
  import { registerHooks } from "node:module";
  registerHooks({ resolve(specifier, context, next) {
    if (specifier !== "@pydantic/genai-prices") return next(specifier, context);
    throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
  } });
  const { definePrompt } = await import("@proviso/core");
  const { modelAdapter } = await import("@proviso/runtime");
  const { estimate } = await import("@proviso/estimation");
  const { scriptedModel } = await import("@proviso/runtime/testing");
  const prompt = definePrompt({ key: "ask", text: "Ask." }).bind();
  const { costUsd, inputTokens } = await estimate(prompt, { adapter: modelAdapter(scriptedModel([])), model: "gpt-4o-mini" });
  console.log(JSON.stringify({ costUsd, inputTokens }));
`;

test("EST-6 without the package the cost is not known, and the estimate says how to install it", async () => {
  const args = [...fromSources, "--input-type=module-typescript", "--eval", program];
  const { stdout } = await promisify(execFile)(process.execPath, args, {
    cwd: new URL("../", import.meta.url).pathname,
  });
  expect(JSON.parse(stdout)).toMatchObject({
    costUsd: { known: false, reason: expect.stringContaining("npm install @pydantic/genai-prices") },
    // 2 of its text, 8 around the message and 12 around the request.
    inputTokens: { p50: 22 },
  });
});
