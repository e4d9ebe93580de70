import { aiSdk, aiSdkModel } from "@proviso/adapter-ai-sdk";
import { DefinitionError } from "@proviso/core";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { mockModel } from "./support/mock-model.ts";

beforeEach(() => {
  for (const name of ["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN", "VERCEL"]) vi.stubEnv(name, "");
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

test("AIS-2 an id belongs to the ecosystem's default provider", async () => {
  const model = mockModel([{}]);
  const languageModel = vi.fn((_id: string) => model);
  vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel });
  const provider = aiSdkModel({ model: "fast" });
  expect(provider).toMatchObject({ name: "mock.chat", model: "mock-1" });
  expect(languageModel).toHaveBeenCalledWith("fast");
  expect(answerOf(await provider.generate(requestOf())).message.text).toBe("Hello.");
});

test("AIS-2 an id that the default provider does not have", () => {
  const languageModel = (): never => {
    throw new Error("No such model.");
  };
  vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel });
  expect(() => aiSdk({ model: "slow" })).toThrow(DefinitionError);
  expect(() => aiSdk({ model: "slow" })).toThrow('AI_SDK_DEFAULT_PROVIDER has no model "slow"');
  vi.stubGlobal("AI_SDK_DEFAULT_PROVIDER", { languageModel: () => ({ ...mockModel([]), specificationVersion: "v1" }) });
  expect(() => aiSdk({ model: "slow" })).toThrow("has the interface v1");
});

test("AIS-2 where no provider resolves an id, the error names where a bare id goes", () => {
  const made = (): unknown => aiSdk({ model: "gpt-5.4" });
  expect(made).toThrow(DefinitionError);
  expect(made).toThrow(/globalThis\.AI_SDK_DEFAULT_PROVIDER.*AI Gateway.*AI_GATEWAY_API_KEY.*openai\("gpt-5\.4"\)/);
});

test("AIS-2 with a key for it, an id goes to the gateway", async () => {
  vi.stubEnv("AI_GATEWAY_API_KEY", "key-12345678");
  const asked: string[] = [];
  vi.stubGlobal("fetch", (url: string) => {
    asked.push(url);
    return Promise.resolve(Response.json({ error: { message: "No.", type: "authentication_error" } }, { status: 401 }));
  });
  const provider = aiSdkModel({ model: "anthropic/claude-sonnet-4-5" });
  expect(provider).toMatchObject({ name: "gateway", model: "anthropic/claude-sonnet-4-5" });
  expect(await provider.generate(requestOf())).toMatchObject({ failure: "provider", reason: "api_key", status: 401 });
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain("ai-gateway.vercel.sh");
});
