// What the Model Context Protocol's own conformance suite asks of a server, served by `serveMcp`.
import { definePrompt, defineTool, toolError, toolOk, type ObjectSchema } from "@proviso/core";
import { serveMcp } from "@proviso/mcp/server";
import { testImage } from "@proviso/runtime/testing";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";

const input = z.object({});
const wav = Buffer.concat([Buffer.from("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0", "latin1"), Buffer.alloc(24)]);
const text = (name: string, type: string, content: string) => new File([content], name, { type });

const tools = [
  defineTool({
    name: "test_simple_text",
    description: "Answers with a text.",
    input,
    execute: () => "This is a simple text response for testing.",
  }),
  defineTool({
    name: "test_image_content",
    description: "Answers with a picture.",
    input,
    execute: () => toolOk(undefined, { files: [testImage()] }),
  }),
  defineTool({
    name: "test_audio_content",
    description: "Answers with sound.",
    input,
    execute: () => toolOk(undefined, { files: [new File([wav], "a.wav", { type: "audio/wav" })] }),
  }),
  defineTool({
    name: "test_embedded_resource",
    description: "Answers with a document.",
    input,
    execute: () => toolOk(undefined, { files: [text("a.txt", "text/plain", "This is an embedded resource content.")] }),
  }),
  defineTool({
    name: "test_multiple_content_types",
    description: "Answers with several.",
    input,
    execute: () =>
      toolOk("Multiple content types test:", {
        files: [testImage(), text("a.json", "application/json", '{"test":"data","value":123}')],
      }),
  }),
  defineTool({
    name: "test_error_handling",
    description: "Fails.",
    input,
    execute: () => toolError("This tool intentionally returns an error for testing"),
  }),
  defineTool({
    name: "test_tool_with_progress",
    description: "Says how far it is.",
    input,
    async execute(_, { progress }) {
      for (const done of [0, 50, 100]) {
        progress({ done, total: 100 });
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return "Done.";
    },
  }),
  defineTool({
    name: "json_schema_2020_12_tool",
    description: "Takes an address.",
    input: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } },
        },
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" },
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false,
    } as unknown as ObjectSchema,
    execute: () => "taken",
  }),
];

const prompts = [
  definePrompt({ ns: "test", key: "simple_prompt", text: "This is a simple prompt for testing." }),
  definePrompt({
    ns: "test",
    key: "prompt_with_arguments",
    params: z.object({ arg1: z.string(), arg2: z.string() }),
    text: "Prompt with arguments: arg1='{{arg1}}', arg2='{{arg2}}'",
  }),
];

/** The service, below an address for which no secret is needed: the suite cannot show one. */
export async function serveForConformance(): Promise<AsyncDisposable & { readonly url: string }> {
  const service = serveMcp({ name: "conformance", version: "1.0.0", tools, prompts: prompts as never });
  const { url, headers } = await service.listen();
  const { hostname, port } = new URL(url);
  const relay = createServer((incoming, outgoing) => {
    const own = `127.0.0.1:${(relay.address() as AddressInfo).port}`;
    // The names of here are those of the service; any other name is passed on, to be refused.
    const here = (name: string | undefined) =>
      name?.replace(own, `${hostname}:${port}`).replace(own.replace("127.0.0.1", "localhost"), `localhost:${port}`);
    const { host, origin, ...rest } = incoming.headers;
    const passed = { ...rest, ...headers, host: here(host), ...(origin === undefined ? {} : { origin: here(origin) }) };
    const { method, url: path } = incoming;
    const asked = httpRequest({ hostname, port, method, path, headers: passed }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    asked.on("error", () => outgoing.destroy());
    outgoing.once("close", () => asked.destroy());
    incoming.pipe(asked);
  });
  await new Promise<void>((resolve) => relay.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(relay.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      relay.closeAllConnections();
      await new Promise((resolve) => relay.close(resolve));
      await service.close();
    },
  };
}
