import { describe, expect, test } from "vitest";
import { runProgram } from "./support/loaded.ts";

const mock = `
  const model = { specificationVersion: "v4", provider: "mock.chat", modelId: "m", supportedUrls: {}, doStream() {},
    doGenerate: async () => ({ content: [{ type: "text", text: "Hello." }], finishReason: { unified: "stop" }, warnings: [] }) };
  const request = { messages: [{ role: "user", text: "Hi" }], tools: [], signal: new AbortController().signal };
`;
describe("AIS-4 what is loaded", () => {
  test("AIS-4 nothing more than core and runtime need, until it is needed", async () => {
    const core = await runProgram('import "@proviso/core"; import "@proviso/runtime";');
    const imported = await runProgram('import "@proviso/adapter-ai-sdk";');
    expect(imported.packages).toEqual(core.packages);
    const asked = await runProgram(`
      import { aiSdkModel } from "@proviso/adapter-ai-sdk";
      ${mock}
      console.log((await aiSdkModel({ model }).generate(request)).message.text);
    `);
    expect(asked).toEqual({ packages: core.packages, output: ["Hello."] });
  });

  test("AIS-4 litellm loads @ai-sdk/openai-compatible with its first request, and never ai", async () => {
    const { packages, output } = await runProgram(`
      import { litellm } from "@proviso/adapter-ai-sdk";
      import { definePrompt } from "@proviso/core";
      const adapter = litellm({ model: "m", apiKey: "none", baseURL: "http://127.0.0.1:1", throttle: { maxAttempts: 1 } });
      console.log(await adapter.evaluate(definePrompt({ ns: "tests", key: "a", sections: [{ key: "a", text: "Hi." }] }).bind({})).catch(({ code }) => code));
    `);
    expect(output).toEqual(["throttled"]);
    expect(packages).toContain("@ai-sdk/openai-compatible");
    expect(packages).not.toContain("ai");
  });
});

describe("PRO-4 a package that is missing", () => {
  test("PRO-4 litellm without @ai-sdk/openai-compatible says how to install it, when the adapter is made", async () => {
    const { output } = await runProgram(
      `import { litellm } from "@proviso/adapter-ai-sdk";
       try { litellm({ model: "m", apiKey: "none", baseURL: "http://127.0.0.1:1" }); } catch (error) { console.log(error.code, error.message); }`,
      ["@ai-sdk/openai-compatible"],
    );
    expect(output).toEqual([
      "definition The package @ai-sdk/openai-compatible is needed for litellm: npm install @ai-sdk/openai-compatible",
    ]);
  });

  test("PRO-4 an id without ai", async () => {
    const { output } = await runProgram(
      `import { aiSdk } from "@proviso/adapter-ai-sdk";
       process.env.AI_GATEWAY_API_KEY = "key-12345678";
       try { aiSdk({ model: "openai/gpt-5.4" }); } catch (error) { console.log(error.code, error.message); }`,
      ["ai"],
    );
    expect(output).toEqual(["definition The package ai is needed for a model that is given by its id: npm install ai"]);
  });

  test("PRO-4 in a bundle, where packages cannot be looked up, the import itself fails", async () => {
    const { output } = await runProgram(
      `import { aiSdk } from "@proviso/adapter-ai-sdk";
       import { definePrompt } from "@proviso/core";
       import { registerHooks } from "node:module";
       process.env.AI_GATEWAY_API_KEY = "key-12345678";
       registerHooks({ resolve(specifier, context, next) {
         if (specifier === "@proviso/core") throw new Error("bundled");
         return next(specifier, context);
       } });
       const adapter = aiSdk({ model: "openai/gpt-5.4" });
       const error = await adapter.evaluate(definePrompt({ ns: "tests", key: "a", sections: [{ key: "a", text: "Hi." }] }).bind({})).catch((error) => error);
       console.log(error.code, error.cause.code, error.message);`,
      ["ai"],
    );
    expect(output).toEqual([
      "provider definition The package ai is needed for a model that is given by its id: npm install ai",
    ]);
  });
});
