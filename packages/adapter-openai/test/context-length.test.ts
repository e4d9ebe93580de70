import { openaiModel } from "@proviso/adapter-openai";
import type { ModelFailure } from "@proviso/core";
import { full, mentioned } from "@proviso/fault-matrix/full-contexts";
import { answering, startServer } from "@proviso/fault-matrix/loopback-server";
import { failureOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";

async function refused(status: number, body: unknown, stream: boolean): Promise<ModelFailure> {
  await using server = await startServer(answering(status, body));
  const model = openaiModel({ model: "m", apiKey: "sk-test-0123456789", baseURL: server.baseURL });
  return await failureOf(model, stream ? { onDelta: () => {} } : {});
}

describe.each([false, true])("PRO-7 a full context, streamed: %s", (stream) => {
  test.each(full)("PRO-7 $service is context_length", async ({ status, body }) => {
    const failure = await refused(status, body, stream);
    expect(failure).toMatchObject({ failure: "provider", reason: "context_length", status });
    expect(failure.message).not.toBe(`The provider answered with status ${status}.`);
  });

  test.each(mentioned)("PRO-7 $service only mentions it", async ({ status, body, expected }) => {
    expect(await refused(status, body, stream)).toMatchObject({ ...expected, status });
  });
});

test.each(full.filter(({ status }) => status === 400))(
  "PRO-7 $service inside a stream that began well is context_length",
  async ({ body }) => {
    const events = `data: ${JSON.stringify(body)}\n\n`;
    const head = { "content-type": "text/event-stream" };
    await using server = await startServer(answering(200, `event: error\n${events}`, head));
    const model = openaiModel({ model: "m", apiKey: "sk-test-0123456789", baseURL: server.baseURL });
    expect(await failureOf(model, { onDelta: () => {} })).toMatchObject({ reason: "context_length" });
  },
);
