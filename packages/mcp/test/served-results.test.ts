// What a served tool gives to a client, and what it keeps.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { definePrompt, defineTool, toolOk } from "@proviso/core";
import { serveMcp, type ServeMcpOptions } from "@proviso/mcp/server";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

async function clientOf(options: Omit<ServeMcpOptions, "name">): Promise<Client> {
  const service = serveMcp({ name: "served", ...options });
  onTestFinished(() => service.close());
  const { url, headers } = await service.listen();
  const client = new Client({ name: "test", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return client;
}

test("SRV-2 the params of an evaluation are changed by their schema once", async () => {
  let parsed = 0;
  const params = z.object({
    word: z.string().transform((word) => {
      parsed++;
      return `<${word}>`;
    }),
    size: z.string().transform(Number).pipe(z.number().max(9)),
    loud: z.boolean().default(false),
  });
  const say = definePrompt({ key: "say", params, text: "{{word}} {{size}} {{loud}}" });
  const adapter = modelAdapter(scriptedModel([({ messages }) => ({ text: `heard ${messages.at(-1)?.text}` })]));
  const client = await clientOf({ evaluations: [say], adapter });
  const answer = await client.callTool({ name: "app_say", arguments: { word: "x", size: "5" } });
  expect(answer).toMatchObject({ content: [{ text: "heard <x> 5 false" }] });
  expect(parsed).toBe(1);
  const refused = await client.callTool({ name: "app_say", arguments: { word: "x", size: "50", more: 1 } });
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused.content)).toMatch(/size.*more/u);
});

test("SRV-2 a value that its tool hides is not sent", async () => {
  const output = z.object({ key: z.string() });
  const hide = defineTool({
    name: "hide",
    description: "Hides.",
    input: z.object({}),
    output,
    execute: () => toolOk({ key: "for the program alone" }, { message: "done", hideValue: true }),
  });
  const client = await clientOf({ tools: [hide] });
  expect(await client.callTool({ name: "hide" })).toEqual({ content: [{ type: "text", text: "done" }] });
});

test("SRV-2 SEC-1 a registered secret is in no name of a file", async () => {
  const key = "sk-served-secret-0123";
  const attach = defineTool({
    name: "attach",
    description: "Attaches.",
    input: z.object({}),
    execute: () => toolOk("see", { files: [new File(["a"], `${key}.txt`, { type: "text/plain" })] }),
  });
  const client = await clientOf({ tools: [attach], secrets: [key] });
  const answer = await client.callTool({ name: "attach" });
  expect(JSON.stringify(answer)).not.toContain(key);
  expect(answer.content).toMatchObject([
    { text: "see" },
    { resource: { uri: "file:///%5Bsecret%5D.txt", blob: "YQ==" } },
  ]);
});
