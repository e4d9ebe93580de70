import { DefinitionError } from "@proviso/core";
import { openai, openaiModel, type OpenAIOptions } from "@proviso/adapter-openai";
import { checkOptions } from "@proviso/runtime";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

const keyed: OpenAIOptions = { model: "gpt-test", apiKey: "sk-test-12345678" };

beforeEach(() => {
  vi.stubEnv("OPENAI_API_KEY", "");
  vi.stubEnv("OPENAI_BASE_URL", "");
});
afterEach(() => {
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
});

function inBrowser(): void {
  vi.stubGlobal("window", { document: {} });
  vi.stubGlobal("document", {});
}

test("OAI-16 in a browser, a key for OpenAI's own address is refused when the adapter is made", () => {
  expect(() => openai(keyed)).not.toThrow();
  inBrowser();
  for (const options of [keyed, { ...keyed, baseURL: "https://api.openai.com/v1" }]) {
    for (const make of [openai, openaiModel]) {
      expect(() => make(options)).toThrow(DefinitionError);
      expect(() => make(options)).toThrow(/in a browser.*dangerouslyAllowBrowser: true/s);
    }
    expect(checkOptions(openai, options).ok).toBe(false);
  }
});

test("OAI-16 the refusal does not show the key", () => {
  inBrowser();
  expect(() => openai(keyed)).toThrow(
    expect.objectContaining({
      message: expect.toSatisfy((text: string) => text.includes("its key") && !text.includes("12345678")),
    }),
  );
});

test.each<[string, Partial<OpenAIOptions>]>([
  ["dangerouslyAllowBrowser: true", { dangerouslyAllowBrowser: true }],
  ["an address of one's own", { baseURL: "https://example.com/ai" }],
  ["a client of one's own", { client: { responses: { create: vi.fn() }, chat: { completions: { create: vi.fn() } } } }],
])("OAI-16 in a browser, %s is accepted", (_, options) => {
  inBrowser();
  expect(() => openai({ ...(options.client === undefined ? keyed : { model: "m" }), ...options })).not.toThrow();
});

test("OAI-16 in a browser, dangerouslyAllowBrowser: false is refused as if it were left out", () => {
  inBrowser();
  expect(() => openai({ ...keyed, dangerouslyAllowBrowser: false })).toThrow(/in a browser/);
});

test("OAI-16 a worker, or a host with a window and no document, is no browser", () => {
  vi.stubGlobal("window", {});
  expect(() => openai(keyed)).not.toThrow();
});

test("OAI-16 dangerouslyAllowBrowser is true or false, and nothing that merely counts as true", () => {
  for (const given of ["true", 1, {}]) {
    const options = { ...keyed, dangerouslyAllowBrowser: given } as unknown as OpenAIOptions;
    expect(() => openai(options)).toThrow(/The option dangerouslyAllowBrowser must be true or false/);
  }
});
