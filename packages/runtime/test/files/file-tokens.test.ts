import { definePrompt, defineTool, toolOk, type FileSupport, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { testImage } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const see = definePrompt({ key: "see", params: z.object({ file: z.file() }), text: "What is it? {{file}}" });

/** The estimated tokens of a request with a file, and of the same one without it. */
async function tokensFor(file: File, tokensOf?: FileSupport["tokensOf"]): Promise<number> {
  const files: FileSupport = {
    types: ["image/*", "audio/*", "application/pdf"],
    from: ["stored"],
    ...(tokensOf === undefined ? {} : { tokensOf }),
  };
  const provider: ModelProvider = {
    name: "counting",
    model: "counting-1",
    capabilities: { tools: true, nativeOutput: false, files },
    generate: async () => ({ message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" }),
  };
  const adapter = modelAdapter(provider);
  const without = definePrompt({ key: "see", text: `What is it? [${labelOf(file)} ${file.name}]` });
  const { usage: withFile } = await adapter.evaluate(see.bind({ file }));
  const { usage: withLabel } = await adapter.evaluate(without.bind({}));
  expect(withFile.estimated).toBe(true);
  return withFile.inputTokens - withLabel.inputTokens;
}

function labelOf({ type }: File): string {
  const kind = type.split("/")[0] ?? "";
  return ["image", "audio"].includes(kind) ? kind : "file";
}

function pdf(pages: number, more = ""): File {
  const text = `%PDF-1.7\n${"<< /Type /Page >>\n".repeat(pages)}<< /Type /Pages >>${more}`;
  return new File([text], "a.pdf", { type: "application/pdf" });
}

describe("FILE-14 a file's tokens", () => {
  test.each([
    ["a small picture", testImage({ width: 40, height: 30 }), 1_120],
    ["a large picture", testImage({ width: 2_000, height: 1_000 }), Math.ceil(1.2 * 63 * 32)],
    ["a document of three pages", pdf(3), 9_000],
    ["a document whose pages cannot be counted", pdf(3, "/ObjStm"), 300_000],
    [
      "sound of 100,000 bytes",
      new File(["RIFF....WAVE", new Uint8Array(99_988)], "a.wav", { type: "audio/wav" }),
      5_000,
    ],
  ])("FILE-14 %s counts by the table, never by its base64", async (_, file, tokens) => {
    expect(await tokensFor(file)).toBe(tokens);
  });

  test("FILE-14 the adapter's own bound comes before the table", async () => {
    expect(await tokensFor(testImage(), () => 777)).toBe(777);
    expect(await tokensFor(testImage(), () => undefined)).toBe(1_120);
  });

  test("FILE-14 a budget reserves the bound of a tool's picture before it is sent", async () => {
    const chart = defineTool({
      name: "chart",
      description: "Draws a chart.",
      input: z.object({}),
      execute: () => toolOk(null, { message: "Drawn.", files: [testImage()] }),
    });
    const draw = definePrompt({
      key: "draw",
      sections: [{ key: "task", role: "user", text: "Draw.", tools: [chart] }],
    });
    let asked = 0;
    const provider: ModelProvider = {
      name: "counting",
      model: "counting-1",
      capabilities: {
        tools: true,
        nativeOutput: false,
        files: { types: ["image/png"], from: ["stored"], tokensOf: () => 50_000 },
      },
      generate: async () => {
        asked += 1;
        const toolCalls = [{ id: "call_1", name: "chart", arguments: "{}" }];
        return { message: { role: "assistant", text: "", toolCalls }, finishReason: "tool-calls" };
      },
    };
    const evaluating = modelAdapter(provider).evaluate(draw.bind({}), { budget: { maxInputTokens: 20_000 } });
    await expect(evaluating).rejects.toMatchObject({ code: "budget" });
    expect(asked).toBe(1);
  });
});
