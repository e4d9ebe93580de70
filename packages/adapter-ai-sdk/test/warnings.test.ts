import type { SharedV4Warning } from "@ai-sdk/provider";
import { aiSdkModel, type AiSdkOptions } from "@proviso/adapter-ai-sdk";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import { expect, test } from "vitest";
import { finish, mockModel } from "./support/mock-model.ts";

const warning: SharedV4Warning = { type: "unsupported", feature: "seed" };
const other: SharedV4Warning = { type: "other", message: "Slow today." };

function loggerInto(records: unknown[]): NonNullable<AiSdkOptions["logger"]> {
  const log = (fields: object, message: string): void => void records.push({ message, ...fields });
  return { debug: log, info: log, warn: log, error: log };
}

test("AIS-9 a warning is a log record, once", async () => {
  const records: unknown[] = [];
  const steps = [
    { warnings: [warning] },
    { warnings: [warning, other] },
    [{ type: "stream-start" as const, warnings: [other] }, finish()],
  ];
  const model = mockModel(steps);
  const provider = aiSdkModel({ model, logger: loggerInto(records) });
  await provider.generate(requestOf());
  await provider.generate(requestOf());
  await provider.generate(requestOf({ onDelta: () => {} }));
  const of = { message: "provider.warning", provider: "mock.chat", model: "mock-1" };
  expect(records).toEqual([
    { ...of, warning },
    { ...of, warning: other },
  ]);
});

test("AIS-9 a logger that throws, and a model without a list, are no reason to fail", async () => {
  const logger = loggerInto([]);
  const broken = {
    ...logger,
    warn: () => {
      throw new Error("full");
    },
  };
  const without = { warnings: undefined as unknown as SharedV4Warning[] };
  const provider = aiSdkModel({ model: mockModel([{ warnings: [warning] }, without]), logger: broken });
  for (let i = 0; i < 2; i++) answerOf(await provider.generate(requestOf()));
});

test("SEC-1 AIS-9 a secret is in no warning's record", async () => {
  const records: unknown[] = [];
  const model = mockModel([{ warnings: [{ type: "other", message: "Not key-in-a-header-01." }] }]);
  const headers = { "x-api-key": "key-in-a-header-01" };
  await aiSdkModel({ model, headers, logger: loggerInto(records) }).generate(requestOf());
  expect(records).toMatchObject([{ warning: { type: "other", message: "Not [secret]." } }]);
});
